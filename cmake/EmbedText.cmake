# SPDX-License-Identifier: Apache-2.0
# Puts text files into the program, so that it runs from anywhere with its machines and help pages inside.
#
#   strata_embed_folder(<function> <pattern>...)
#
# generates a source that defines `std::span<const EmbeddedFile> strata::<function>()`, as declared in
# src/strata/base/embedded.hpp, with one entry per file that matches, sorted by name. It is remade when a file
# changes, appears or goes. The source joins STRATA_EMBEDDED_SOURCES.

function(strata_embed_folder symbol)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  set(output "${PROJECT_BINARY_DIR}/generated/${symbol}.cpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake")

  # The list goes through a file: it has no length limit, and its time stamp tells when a file was removed.
  file(CONFIGURE OUTPUT "${output}.list" CONTENT "${files}" @ONLY)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -D "symbol=${symbol}" -D "list=${output}.list" -D "output=${output}" -P "${script}"
    DEPENDS ${files} "${output}.list" "${script}"
    COMMENT "Embedding ${symbol}"
    VERBATIM)
  set(STRATA_EMBEDDED_SOURCES ${STRATA_EMBEDDED_SOURCES} "${output}" PARENT_SCOPE)
endfunction()
