# SPDX-License-Identifier: Apache-2.0
# toml++ comes as a CMake package, as a pkg-config file or as bare headers, depending on who packaged it.
# Whatever is there, the result is the target tomlplusplus::tomlplusplus. Installed with Strata's own package,
# because a static libstrata needs it at link time.

find_package(tomlplusplus ${tomlplusplus_FIND_VERSION} CONFIG QUIET)

if(NOT TARGET tomlplusplus::tomlplusplus)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(tomlplusplus_pc QUIET IMPORTED_TARGET "tomlplusplus>=${tomlplusplus_FIND_VERSION}")
  endif()
  if(TARGET PkgConfig::tomlplusplus_pc)
    add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)
    target_link_libraries(tomlplusplus::tomlplusplus INTERFACE PkgConfig::tomlplusplus_pc)
  else()
    find_path(tomlplusplus_INCLUDE_DIR toml++/toml.h)
    mark_as_advanced(tomlplusplus_INCLUDE_DIR)
    if(tomlplusplus_INCLUDE_DIR)
      add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)
      target_include_directories(tomlplusplus::tomlplusplus INTERFACE "${tomlplusplus_INCLUDE_DIR}")
    endif()
  endif()
endif()

set(tomlplusplus_target "")
if(TARGET tomlplusplus::tomlplusplus)
  set(tomlplusplus_target tomlplusplus::tomlplusplus)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(tomlplusplus
  REQUIRED_VARS tomlplusplus_target
  REASON_FAILURE_MESSAGE "no CMake package, no pkg-config file and no header toml++/toml.h")
