# SPDX-License-Identifier: Apache-2.0
# cpack: a release as files. A tarball runs from any folder and has the libraries that the program is linked with beside
# it. Debian packages, strata and libstrata-dev, name those of the distribution instead.
#   cmake --preset release && cmake --build --preset release && (cd build/release && cpack)

# Of the tarball: what every Linux has is not copied. The copies need each other, so the path to them is one that goes
# for all libraries of the program (RPATH), not only for those that it names itself (RUNPATH).
set(libraries_dir "${CMAKE_INSTALL_LIBDIR}/strata")
install(RUNTIME_DEPENDENCY_SET strata_libraries
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so"
  LIBRARY DESTINATION "${libraries_dir}" COMPONENT libraries EXCLUDE_FROM_ALL)
file(RELATIVE_PATH from_program "/${CMAKE_INSTALL_BINDIR}" "/${libraries_dir}")
set_target_properties(strata_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${from_program}")
target_link_options(strata_cli PRIVATE LINKER:--disable-new-dtags)

# strata_debian_packages(<variable> <file>...): "name, name": the packages that these files belong to.
function(strata_debian_packages out)
  set(names "")
  foreach(file ${ARGN})
    execute_process(COMMAND "${STRATA_DPKG_QUERY}" -S "${file}" OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner MATCHES "^([a-z0-9.+-]+):")
      list(APPEND names "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  list(JOIN names ", " names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

string(TOLOWER "strata-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_PACKAGE_VENDOR "The Strata developers")
set(CPACK_PACKAGE_CONTACT "The Strata developers")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/package_kind.cmake")
set(CPACK_COMPONENTS_ALL program development libraries)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)  # all cores
set(CPACK_GENERATOR TGZ)

find_program(STRATA_DPKG_QUERY dpkg-query)
find_program(STRATA_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(STRATA_DPKG_QUERY STRATA_DPKG_SHLIBDEPS)
if(STRATA_DPKG_QUERY AND STRATA_DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME strata)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${PROJECT_DESCRIPTION}")
  # What is loaded when it is first needed is not in the program's list of libraries.
  set(loaded_files "")
  foreach(library ${STRATA_LOADED_LIBRARIES})
    file(REAL_PATH "${library}" library)
    list(APPEND loaded_files "${library}")
  endforeach()
  strata_debian_packages(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS ${loaded_files})
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libstrata-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}: the library")
  strata_debian_packages(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ${STRATA_OPTIONAL_LIBRARIES} "${fmt_DIR}/fmt-config.cmake"
    "${nlohmann_json_DIR}/nlohmann_jsonConfig.cmake")
endif()
include(CPack)
