# SPDX-License-Identifier: Apache-2.0
# strata_check_headers(<target> <header>...) compiles each header alone, as the first include of a source, with
# what <target> offers to its users. A header that leans on the includes of its neighbours breaks the build here,
# and not in the project of the first person who includes it. A source that includes its own header first is that
# proof already, so only headers without one get a source of their own.

function(strata_check_headers target)
  set(sources "")
  foreach(header IN LISTS ARGN)
    string(REGEX REPLACE "\\.hpp$" ".cpp" source "${header}")
    set(first_include "")
    if(EXISTS "${source}")
      file(STRINGS "${source}" first_include REGEX "^#include" LIMIT_COUNT 1)
    endif()
    cmake_path(GET header FILENAME name)
    if(NOT first_include MATCHES "/${name}\"")
      file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${header}")
      set(alone "${PROJECT_BINARY_DIR}/headers_alone/${relative}.cpp")
      file(CONFIGURE OUTPUT "${alone}" CONTENT "#include \"${header}\"\n" @ONLY)
      list(APPEND sources "${alone}")
    endif()
  endforeach()
  if(sources)
    add_library(${target}_headers_alone OBJECT ${sources})
    target_link_libraries(${target}_headers_alone PRIVATE ${target})
    target_compile_options(${target}_headers_alone PRIVATE -O0 -g0  # only the front end matters
      -Wno-unknown-pragmas)  # OpenMP's: a user of the header may lack it
    strata_compile_options(${target}_headers_alone)
  endif()
endfunction()
