# SPDX-License-Identifier: Apache-2.0
# How every target of Strata is compiled. Nothing here leaks to those who link the library.

# With no build type CMake compiles without optimization; nobody who times networks wants that.
get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT is_multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# ccache makes a switch of branch or preset cheap. It is a habit of the developer, so only at top level.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(STRATA_CCACHE ccache)
  if(STRATA_CCACHE)
    # The setting lets it keep what was compiled with precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${STRATA_CCACHE}")
  endif()
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # for clangd and clang-tidy
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # an installed program finds the libraries of a rootless prefix
endif()

# gcc clears its memory more often than a source of thousands of lines needs: a tenth of a build's time. A compiler at work
# takes up to 1.5 GB then.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=1000;--param=ggc-min-heapsize=1000000>")
endif()

# Sanitizers must see every object file of the program, so they are set for the directory.
if(STRATA_SANITIZE)
  add_compile_options(
    -fsanitize=${STRATA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${STRATA_SANITIZE})
  if(STRATA_SANITIZE MATCHES "address")  # sees what these two see; without them the build takes a quarter less
    add_compile_options(-fno-sanitize=null,object-size)
  endif()
endif()

if(STRATA_FUZZ)  # libFuzzer steers by what the library's code reports, not only the target's
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "STRATA_FUZZ=ON needs clang: only clang comes with libFuzzer")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(strata_compile_options target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # Checked indexing and iterators wherever assertions are on.
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
  if(NOT STRATA_WARNINGS)
    # Who only runs Strata has nothing to do with warnings, and fmt checks its format strings when it uses them.
    target_compile_options(${target} PRIVATE -w)
    target_compile_definitions(${target} PRIVATE FMT_CONSTEVAL=)
    return()
  endif()
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow
    -Wconversion            # counts are 64-bit and exact: a silent narrowing is a wrong answer
    -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wimplicit-fallthrough
    -Wno-sign-conversion    # indexing with int64_t is everywhere; -Wsign-compare still guards comparisons
    -Wno-missing-field-initializers  # tables of designated initializers leave defaults out on purpose
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>  # gcc bug 105651
    $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-pragmas>  # hints to gcc are no mistake elsewhere
    $<$<BOOL:${STRATA_WERROR}>:-Werror>)
endfunction()

# strata_runs_cold(<target>): hardly optimized. With -Og gcc takes about as long as with -O0, because small functions are
# inlined before there is code for each of them, and much less than with -O2. clang takes as long for its -Og as for -O2.
function(strata_runs_cold target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Og>)
endfunction()

# strata_precompile(<target> <header>...): what nearly every source reads, and those headers, are read once. It halves
# the time of a build. Headers are compiled alone elsewhere (HeadersAlone), so none can come to lean on it.
function(strata_precompile target)
  if(NOT STRATA_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>
    "${PROJECT_SOURCE_DIR}/src/strata/graph/graph.hpp" ${ARGN})
  strata_precompiled_options(${target})
endfunction()

# strata_precompiled_as(<target> <other>): the same headers with the same flags, read once for both.
function(strata_precompiled_as target other)
  if(NOT STRATA_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${other})
  strata_precompiled_options(${target})
endfunction()

function(strata_precompiled_options target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
  # With precompiled headers gcc 12 sees its own strings overstep their bounds (gcc bug 105329).
  target_compile_options(${target} PRIVATE
    "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds;-Wno-stringop-overflow>")
endfunction()

# strata_unity(<target>): its sources are compiled together in the batches that strata_batches has made. Who works on
# the sources builds without it: one edit, one file.
function(strata_unity target)
  if(STRATA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
endfunction()

# strata_batches(<source>...): sources of one folder are one batch, at most 40 at once, so local names are unique within a
# folder; of parts with many small folders, within the part. Give it all sources, also those that a build leaves out, so
# that batches are the same in every build, and the build for tests finds every clash of names. Apart are optional parts
# and stand-ins for them, as the program without libraries links others in their place: a folder of a part is a batch, and
# so are all files of parts, and all stand-ins. Alone is what strata-mpi replaces.
function(strata_batches)
  set(all_parts ${STRATA_PRESENT_PARTS} ${STRATA_ABSENT_PARTS})
  list(JOIN all_parts "|" parts)
  set(folders "src/strata/(capture|cost|graph|importers|measure/cpu|predict|report|zoo)")
  foreach(source ${ARGN})
    if(source MATCHES "/no_mpi_")
      continue()
    elseif(source MATCHES "/no_[a-z0-9]+[/_][^/]*$")
      strata_batch(stand_ins "${source}")
    elseif(source MATCHES "/(${parts})_[^/]*$")
      strata_batch(optional "${source}")
    else()
      file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${source}")
      string(REGEX MATCH "^(.*/(${parts})|${folders}|.*)/" matched "${relative}")
      strata_batch("${CMAKE_MATCH_1}" "${source}")
    endif()
  endforeach()
endfunction()

# strata_batch(<name> <source>): adds the source to the batch, or to the next one where 40 are in it.
macro(strata_batch name source)
  string(MAKE_C_IDENTIFIER "${PROJECT_SOURCE_DIR}/${name}" group)
  math(EXPR files_${group} "${files_${group}} + 1")
  math(EXPR batch "${files_${group}} / 40")
  set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}_${batch}")
endmacro()

# strata_unity_tests(<target> <source>...): the same for tests, by part: src/strata/<part> or tests/<folder> with all
# below it, as many folders hold one test or two. Most of what a small test costs is what all of them instantiate.
function(strata_unity_tests target)
  if(STRATA_UNITY_TESTS)
    strata_compile_together(${target} "^(((src/strata|tests)/)?[a-z_]+)/" ${ARGN})
  endif()
endfunction()

# strata_compile_together(<target> <pattern> <source>...): those whose path in the repository has the same beginning, as
# the pattern's first group finds it.
function(strata_compile_together target pattern)
  strata_unity(${target})
  foreach(source ${ARGN})
    file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${source}")
    string(REGEX MATCH "${pattern}" matched "${relative}")
    strata_batch("${CMAKE_MATCH_1}" "${source}")
  endforeach()
endfunction()
