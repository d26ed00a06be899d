# SPDX-License-Identifier: Apache-2.0
# libstrata_inject.so: what `strata capture` has NVIDIA's driver load into the program that it watches. It lives among
# strangers: it brings its C++ run time with it, shows nothing but its two entry points, and links neither CUPTI nor
# CUDA but takes those that the program has. Built where CUPTI's headers are.
function(strata_add_injected_library)
  if(NOT cupti IN_LIST STRATA_PRESENT_PARTS OR STRATA_SANITIZE OR STRATA_FUZZ)
    return()  # an instrumented library needs a program that is instrumented, too
  endif()
  set(inject "${PROJECT_SOURCE_DIR}/src/strata/capture/inject")
  file(GLOB sources CONFIGURE_DEPENDS "${inject}/*.cpp")
  foreach(shared log_writer log_path capture_options recording_window call_budget capture_session)
    list(APPEND sources "${PROJECT_SOURCE_DIR}/src/strata/capture/${shared}.cpp")
  endforeach()
  add_library(strata_inject MODULE ${sources})
  target_include_directories(strata_inject PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(strata_inject SYSTEM PRIVATE "${STRATA_CUPTI_INCLUDE_DIR}")
  target_compile_definitions(strata_inject PRIVATE STRATA_CUPTI_LIBRARY="${STRATA_CUPTI_LIBRARY}")
  target_compile_features(strata_inject PRIVATE cxx_std_20)
  target_link_libraries(strata_inject PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(strata_inject PRIVATE -static-libstdc++ -static-libgcc LINKER:--exclude-libs,ALL
    LINKER:-z,defs LINKER:-z,nodelete "LINKER:--version-script=${inject}/exports.map")
  set_target_properties(strata_inject PROPERTIES LINK_DEPENDS "${inject}/exports.map")
  target_compile_options(strata_inject PRIVATE -O2)  # it is on somebody else's time
  set_target_properties(strata_inject PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  strata_compile_options(strata_inject)
  # All at once: the batches of the library are not those of a few of its sources.
  set_target_properties(strata_inject PROPERTIES UNITY_BUILD ${STRATA_UNITY} UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 0)
  if(STRATA_INSTALL)
    install(TARGETS strata_inject LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT program)
  endif()
endfunction()
