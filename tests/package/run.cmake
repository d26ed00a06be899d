# SPDX-License-Identifier: Apache-2.0
# cmake -D build=<build tree> -D scratch=<folder> -D generator=<name> -D compiler=<path> -P run.cmake
#
# Installs Strata, builds the consumer against it, runs it, and looks whether the rest of the install is there.
cmake_minimum_required(VERSION 3.25)
set(prefix "${scratch}/prefix")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${scratch}")
run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${scratch}/build" -G "${generator}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${compiler}")
run("${CMAKE_COMMAND}" --build "${scratch}/build")
run("${scratch}/build/consumer")
run("${prefix}/bin/strata" --version)

foreach(file
    share/man/man1/strata.1 share/bash-completion/completions/strata
    share/zsh/site-functions/_strata share/fish/vendor_completions.d/strata.fish)
  file(SIZE "${prefix}/${file}" size)
  if(size EQUAL 0)
    message(FATAL_ERROR "${file} is empty")
  endif()
endforeach()
