# SPDX-License-Identifier: Apache-2.0
# Read by cpack for each kind of package: how they differ.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL program development)
  set(CPACK_COMPONENTS_GROUPING IGNORE)
else()
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
