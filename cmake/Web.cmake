# SPDX-License-Identifier: Apache-2.0
# The report page (strata report, --html): web/ bundled by esbuild with the modules of D3 that it uses into one HTML
# text, which is put into the program. Both are packages of the distribution. Without them the text is empty, and the
# program writes plain pages.
# STRATA_WITH_WEB is AUTO (built when both are there), ON (an error when they are not) or OFF.

set(STRATA_WITH_WEB AUTO CACHE STRING "the report page, bundled by esbuild: AUTO, ON or OFF")
set_property(CACHE STRATA_WITH_WEB PROPERTY STRINGS AUTO ON OFF)
set(STRATA_WEB_FOLDER "${PROJECT_BINARY_DIR}/web")

find_program(STRATA_ESBUILD esbuild)
# Debian's folder, or wherever NODE_PATH (a node_modules of your own) or CMAKE_PREFIX_PATH point.
find_path(STRATA_D3_MODULES d3-scale/package.json HINTS ENV NODE_PATH
  PATH_SUFFIXES share/nodejs lib/node_modules share/javascript)
mark_as_advanced(STRATA_ESBUILD STRATA_D3_MODULES)
set(web_problem "")
if(STRATA_WITH_WEB STREQUAL "OFF")
  set(web_problem "STRATA_WITH_WEB=OFF")
elseif(NOT STRATA_ESBUILD)
  set(web_problem "no esbuild was found")
else()
  foreach(module d3-scale d3-scale-chromatic d3-hierarchy)
    if(NOT EXISTS "${STRATA_D3_MODULES}/${module}/package.json")
      set(web_problem "no ${module} was found")
    endif()
  endforeach()
endif()
if(web_problem AND STRATA_WITH_WEB STREQUAL "ON")
  message(FATAL_ERROR "STRATA_WITH_WEB=ON, but ${web_problem}. It is needed for the report page; install esbuild and D3 "
    "(docs/dependencies.md), or configure with STRATA_WITH_WEB=OFF.")
elseif(web_problem)
  message(STATUS "Without the report page, strata report writes plain pages: ${web_problem} (STRATA_WITH_WEB)")
endif()

set(web_there yes)
if(web_problem)
  set(web_there no)
endif()
strata_note_part(page ${web_there} "the report page (strata report, --html)"
  "pages are plain tables and pictures, without views that are linked, sorted and searched")

# strata_embed_web_page(): defines embedded_report_page(), as declared in src/strata/base/embedded.hpp.
function(strata_embed_web_page)
  set(esbuild "${STRATA_ESBUILD}")
  if(web_problem OR STRATA_LIBRARY_PART)
    set(esbuild "")
  endif()
  set(page "${STRATA_WEB_FOLDER}/report_page.html")
  set(bundle "${PROJECT_SOURCE_DIR}/cmake/bundle_web.cmake")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/src/*")
  add_custom_command(
    OUTPUT "${page}"
    COMMAND "${CMAKE_COMMAND}" -D "esbuild=${esbuild}" -D "modules=${STRATA_D3_MODULES}"
      -D "source=${PROJECT_SOURCE_DIR}/web" -D "stage=${STRATA_WEB_FOLDER}" -D "page=${page}" -P "${bundle}"
    DEPENDS ${sources} "${PROJECT_SOURCE_DIR}/web/page.html" "${bundle}"
    COMMENT "Bundling the report page"
    VERBATIM)
  strata_embed_files(embedded_report_page "${page}")
endfunction()
