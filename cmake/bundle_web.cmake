# SPDX-License-Identifier: Apache-2.0
# cmake -D esbuild=<program or empty> -D modules=<folder of D3's packages> -D source=<web/> -D stage=<folder>
#   -D page=<file> -P bundle_web.cmake
#
# Everything in web/src and web/page.html becomes one HTML file without a reference to anything outside. Without esbuild
# the page is empty, and the program writes plain pages.
cmake_minimum_required(VERSION 3.25)

if(NOT esbuild)
  file(WRITE "${page}" "")
  return()
endif()

# Browsers want the sum of a script in base64, and CMake has it in hexadecimal: three bytes are six digits of the one and
# four of the other.
function(to_base64 hexadecimal out)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(LENGTH "${hexadecimal}" left)
  set(text "")
  while(left GREATER 0)
    string(SUBSTRING "${hexadecimal}00000" 0 6 three_bytes)
    foreach(shift 18 12 6 0)
      math(EXPR at "(0x${three_bytes} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${at} 1 digit)
      string(APPEND text "${digit}")
    endforeach()
    if(left LESS 6)  # one byte is two digits of four, two bytes are three
      math(EXPR used "${left} / 2 + 1")
      string(LENGTH "${text}" length)
      math(EXPR kept "${length} - 4 + ${used}")
      string(SUBSTRING "${text}" 0 ${kept} text)
      string(SUBSTRING "====" ${used} -1 padding)
      string(APPEND text "${padding}")
      break()
    endif()
    string(SUBSTRING "${hexadecimal}" 6 -1 hexadecimal)
    math(EXPR left "${left} - 6")
  endwhile()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(ENV{NODE_PATH} "${modules}")
execute_process(
  COMMAND "${esbuild}" "${source}/src/main.ts" "--outdir=${stage}" --bundle --minify --format=iife
    --target=chrome100,firefox113,safari16.4 --charset=ascii --legal-comments=none --log-level=error
  RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status STREQUAL "0")
  message(FATAL_ERROR "the report page could not be bundled (${status}):\n${errors}")
endif()
file(READ "${stage}/main.js" script)
file(READ "${stage}/main.css" style)
file(READ "${source}/page.html" text)
string(STRIP "${script}" script)
string(STRIP "${style}" style)

# Only this script may run, and nothing may be fetched, whatever the data hold.
string(SHA256 sum "${script}")
to_base64("${sum}" sum)
set(policy "default-src 'none'; script-src 'sha256-${sum}'; style-src 'unsafe-inline'; img-src data:")
foreach(part policy style script)
  string(REPLACE "<!--${part}-->" "${${part}}" text "${text}")
endforeach()
file(WRITE "${page}" "${text}")
