# SPDX-License-Identifier: Apache-2.0
# cmake -D npm=<program or empty> -D required=<AUTO|ON|OFF> -D source=<web/> -D stage=<folder> -D page=<file>
#   -D tests=<whether what the tests of the page need is fetched, too> -P bundle_web.cmake
#
# Works on a copy, so that the source tree stays as it is and two builds do not meet. Packages are fetched when
# package-lock.json has changed. No network is no error, unless the page is required: the page is empty then.
cmake_minimum_required(VERSION 3.25)

function(without_page reason)
  if(required STREQUAL "ON")
    message(FATAL_ERROR "the report page could not be bundled: ${reason}")
  endif()
  if(npm)
    message(STATUS "Without the report page, strata report writes plain pages: ${reason}. "
      "To try again, remove ${page} and build.")
  endif()
  file(WRITE "${page}" "")
endfunction()

file(MAKE_DIRECTORY "${stage}")
if(NOT npm)
  without_page("no npm")
  return()
endif()

file(REMOVE_RECURSE "${stage}/src")  # what has gone must not be bundled
file(GLOB files "${source}/*.json" "${source}/*.mjs" "${source}/*.html" "${source}/.npmrc")
file(COPY ${files} "${source}/src" DESTINATION "${stage}")

set(lock "${stage}/package-lock.json")
set(installed "${stage}/installed.txt")  # what the packages there were fetched for
file(SHA256 "${lock}" wanted)
string(APPEND wanted "${tests}")
set(omitted "")
if(NOT tests)
  set(omitted --omit=dev)
endif()
set(present "")
if(EXISTS "${installed}" AND IS_DIRECTORY "${stage}/node_modules")
  file(READ "${installed}" present)
endif()
if(NOT wanted STREQUAL present)
  execute_process(
    COMMAND "${npm}" ci ${omitted} --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1
      --fetch-retry-mintimeout=1000 --fetch-timeout=20000 --loglevel=error
    WORKING_DIRECTORY "${stage}" TIMEOUT 120
    RESULT_VARIABLE status OUTPUT_VARIABLE ignored ERROR_VARIABLE errors)
  if(NOT status STREQUAL "0")
    string(REGEX MATCH "npm error [^\n]*" error "${errors}")
    without_page("npm ci failed (${status}) ${error}")
    return()
  endif()
  file(WRITE "${installed}" "${wanted}")
endif()

# From here on a failure is a mistake in web/, whatever the network says.
execute_process(COMMAND "${npm}" run --silent build -- "${page}" WORKING_DIRECTORY "${stage}"
  RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status STREQUAL "0")
  message(FATAL_ERROR "the report page could not be bundled (${status}):\n${errors}")
endif()
