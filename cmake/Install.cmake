# SPDX-License-Identifier: Apache-2.0
# cmake --install: the library with its headers, the program with its manual, and the package that makes
# find_package(strata) work. tests/package/ uses all of it as an outside project would. Package.cmake makes files of it.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/strata")
install(TARGETS strata EXPORT strataTargets FILE_SET HEADERS COMPONENT development ARCHIVE COMPONENT development
  LIBRARY COMPONENT development)
install(EXPORT strataTargets NAMESPACE strata:: DESTINATION "${package_dir}" COMPONENT development)
configure_package_config_file(cmake/strataConfig.cmake.in "${PROJECT_BINARY_DIR}/strataConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break the API.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/strataConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/strataConfig.cmake" "${PROJECT_BINARY_DIR}/strataConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT development)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)

if(NOT TARGET strata_cli)
  return()
endif()
install(TARGETS strata_cli RUNTIME_DEPENDENCY_SET strata_libraries COMPONENT program)
# What strata machine measure --device cuda --calibrate runs.
install(FILES python/calibration/pytorch_cases.py python/calibration/network_layers.py
  python/calibration/more_cases.py
  python/calibration/to_calibration.py
  DESTINATION "${CMAKE_INSTALL_DATADIR}/strata/calibration" COMPONENT program)
if(TARGET strata_mpi)
  install(TARGETS strata_mpi COMPONENT mpi)  # found beside the program
endif()

# The program writes its own manual from its flag table, so the two cannot disagree.
if(STRATA_INSTALL_DOCS AND NOT CMAKE_CROSSCOMPILING)
  function(strata_install_generated what folder name)
    set(output "${PROJECT_BINARY_DIR}/share/${folder}/${name}")
    add_custom_command(
      OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/share/${folder}"
      COMMAND "$<TARGET_FILE:strata_cli>" generate ${what} > "${output}"
      DEPENDS strata_cli
      COMMENT "Generating ${name}"
      VERBATIM)
    install(FILES "${output}" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}" COMPONENT program)
    set(generated_docs ${generated_docs} "${output}" PARENT_SCOPE)
  endfunction()
  strata_install_generated(man man/man1 strata.1)
  strata_install_generated(bash bash-completion/completions strata)
  strata_install_generated(zsh zsh/site-functions _strata)
  strata_install_generated(fish fish/vendor_completions.d strata.fish)
  add_custom_target(strata_docs ALL DEPENDS ${generated_docs})
endif()

if(PROJECT_IS_TOP_LEVEL)
  include(Package)
endif()
