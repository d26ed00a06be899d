# SPDX-License-Identifier: Apache-2.0
# cmake -D build=<build tree> -D source=<source tree> -D scratch=<folder> -P release.cmake
#
# Makes the files of a release, unpacks them elsewhere, and runs what they hold as somebody does who has nothing else.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(expect_files root)
  foreach(file ${ARGN})
    file(GLOB found "${root}/${file}")
    if(NOT found)
      message(FATAL_ERROR "${root} has no ${file}")
    endif()
  endforeach()
endfunction()

# Runs the program of an unpacked release: in an empty folder, with an empty environment.
function(expect_program program)
  set(folder "${scratch}/empty")
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}")
  # `env` twice: CMake's changes to the folder, the other one clears what is set.
  execute_process(COMMAND env -i "HOME=${folder}" "${program}" predict resnet50 --html page.html
    WORKING_DIRECTORY "${folder}" OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
  if(NOT table MATCHES "ResNet-50")
    message(FATAL_ERROR "no table of ResNet-50:\n${table}")
  endif()
  file(READ "${folder}/page.html" page)
  if(NOT page MATCHES "^<!DOCTYPE html>" OR NOT page MATCHES "ResNet-50|application/zlib")
    message(FATAL_ERROR "page.html is no report page")
  endif()
  # What a program reads in the source tree at run time, it would have to name.
  file(STRINGS "${program}" named REGEX "${source}/(data|docs|web)/" LIMIT_COUNT 1)
  if(named)
    message(FATAL_ERROR "${program} names a file of the source tree: ${named}")
  endif()
endfunction()

file(REMOVE_RECURSE "${scratch}")
run("${CMAKE_CPACK_COMMAND}" --config "${build}/CPackConfig.cmake" -B "${scratch}/files")

file(GLOB tarball "${scratch}/files/strata-*.tar.gz")
file(ARCHIVE_EXTRACT INPUT "${tarball}" DESTINATION "${scratch}/any folder")
file(GLOB root "${scratch}/any folder/strata-*")
expect_files("${root}" bin/strata lib/libstrata.a lib/cmake/strata/strataConfig.cmake include/strata/strata.hpp
  share/man/man1/strata.1 share/bash-completion/completions/strata lib/strata/libfmt.so.*)
expect_program("${root}/bin/strata")
execute_process(COMMAND ldd "${root}/bin/strata" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
if(NOT libraries MATCHES "libfmt[^\n]*any folder")
  message(FATAL_ERROR "the program does not take the libraries beside it:\n${libraries}")
endif()

file(GLOB packages "${scratch}/files/*.deb")
list(LENGTH packages count)
find_program(dpkg_deb dpkg-deb)
if(count EQUAL 0 OR NOT dpkg_deb)
  message(STATUS "without Debian packages: dpkg-shlibdeps or dpkg-deb is not there")
  return()
endif()
foreach(package ${packages})
  run("${dpkg_deb}" -x "${package}" "${scratch}/debian")
endforeach()
expect_files("${scratch}/debian/usr" bin/strata lib/libstrata.a lib/cmake/strata/strataConfig.cmake
  include/strata/strata.hpp share/man/man1/strata.1 share/zsh/site-functions/_strata)
if(EXISTS "${scratch}/debian/usr/lib/strata")
  message(FATAL_ERROR "the Debian package carries libraries of the distribution")
endif()
expect_program("${scratch}/debian/usr/bin/strata")
file(GLOB package "${scratch}/files/strata_*.deb")
execute_process(COMMAND "${dpkg_deb}" -f "${package}" Depends OUTPUT_VARIABLE depends COMMAND_ERROR_IS_FATAL ANY)
foreach(library libc6 libfmt libstdc)
  if(NOT depends MATCHES "${library}")
    message(FATAL_ERROR "the package does not say that it needs ${library}: ${depends}")
  endif()
endforeach()
