# SPDX-License-Identifier: Apache-2.0
# The report page (strata report, --html): web/ bundled by npm into one HTML text and put into the program. Without npm,
# or where npm cannot fetch its packages, the text is empty and the program writes plain pages.
# STRATA_WITH_WEB is AUTO (built when npm is there), ON (an error when it cannot be built) or OFF.

set(STRATA_WITH_WEB AUTO CACHE STRING "the report page, bundled by npm: AUTO, ON or OFF")
set_property(CACHE STRATA_WITH_WEB PROPERTY STRINGS AUTO ON OFF)
set(STRATA_WEB_FOLDER "${PROJECT_BINARY_DIR}/web")

# strata_embed_web_page(): defines embedded_report_page(), as declared in src/strata/base/embedded.hpp.
function(strata_embed_web_page)
  find_program(STRATA_NPM npm)
  mark_as_advanced(STRATA_NPM)
  set(npm "${STRATA_NPM}")
  if(STRATA_WITH_WEB STREQUAL "OFF" OR STRATA_LIBRARY_PART)
    set(npm "")
  elseif(NOT npm AND STRATA_WITH_WEB STREQUAL "ON")
    message(FATAL_ERROR "STRATA_WITH_WEB=ON, but npm was not found. It bundles the report page; install it, or "
      "configure with STRATA_WITH_WEB=OFF.")
  elseif(NOT npm)
    message(STATUS "Without the report page: no npm (STRATA_WITH_WEB); strata report writes plain pages")
    set(npm "")
  endif()

  set(page "${STRATA_WEB_FOLDER}/report_page.html")
  set(output "${PROJECT_BINARY_DIR}/generated/embedded_report_page.cpp")
  set(bundle "${PROJECT_SOURCE_DIR}/cmake/bundle_web.cmake")
  set(embed "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/*" "${PROJECT_SOURCE_DIR}/web/.npmrc"
    "${PROJECT_SOURCE_DIR}/web/src/*")
  list(FILTER sources EXCLUDE REGEX "/(node_modules|src)$")
  file(CONFIGURE OUTPUT "${output}.list" CONTENT "${page}" @ONLY)
  add_custom_command(
    OUTPUT "${output}"
    BYPRODUCTS "${page}"
    COMMAND "${CMAKE_COMMAND}" -D "npm=${npm}" -D "required=${STRATA_WITH_WEB}" -D "source=${PROJECT_SOURCE_DIR}/web"
      -D "stage=${STRATA_WEB_FOLDER}" -D "page=${page}" -D "tests=${STRATA_BUILD_TESTS}" -P "${bundle}"
    COMMAND "${CMAKE_COMMAND}" -D symbol=embedded_report_page -D "list=${output}.list" -D "output=${output}" -P "${embed}"
    DEPENDS ${sources} "${output}.list" "${bundle}" "${embed}"
    COMMENT "Bundling the report page"
    VERBATIM)
  set(STRATA_EMBEDDED_SOURCES ${STRATA_EMBEDDED_SOURCES} "${output}" PARENT_SCOPE)
endfunction()
