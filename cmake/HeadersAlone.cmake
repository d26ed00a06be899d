# SPDX-License-Identifier: Apache-2.0
# strata_check_headers(<target> <header>...) compiles each header alone, as the first include of a source, with
# what <target> offers to its users. A header that leans on the includes of its neighbours breaks the build here,
# and not in the project of the first person who includes it.

function(strata_check_headers target)
  if(NOT ARGN)
    return()
  endif()
  set(sources "")
  foreach(header IN LISTS ARGN)
    file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${header}")
    set(source "${PROJECT_BINARY_DIR}/headers_alone/${relative}.cpp")
    # Twice, so that a missing include guard is seen as well.
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  add_library(${target}_headers_alone OBJECT ${sources})
  target_link_libraries(${target}_headers_alone PRIVATE ${target})
  target_compile_options(${target}_headers_alone PRIVATE -O0 -g0)  # only the front end matters
  strata_compile_options(${target}_headers_alone)
endfunction()
