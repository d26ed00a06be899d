# SPDX-License-Identifier: Apache-2.0
# The CUDA backend: an optional part like the others (OptionalParts), which needs a compiler of its own. Kernels are
# *.cu, compiled by nvcc; all else is *.cpp. CUDA's run time is linked in, and cuBLAS, cuBLASLt, cuDNN and NVML are
# loaded when they are first needed, so that the same program runs, without a GPU's numbers, where no driver is.
#
# STRATA_CUDA is AUTO (built when nvcc is found and works and an NVIDIA GPU is here, for that GPU), ON (for every
# generation; an error when nvcc is not found) or OFF. Kernels take longer to compile than many other things, and
# where no GPU is they can only say so.
set(STRATA_CUDA AUTO CACHE STRING "The CUDA backend: AUTO, ON or OFF")
set_property(CACHE STRATA_CUDA PROPERTY STRINGS AUTO ON OFF)
set(STRATA_CUDA_TOOLKIT_VERSION "")

# Sets `problem`, or leaves it empty and CUDA ready. In a macro, for a language belongs to the directory.
macro(strata_find_cuda problem)
  set(${problem} "")
  set(cuda_architectures "80-real;90-real;90-virtual")
  if(STRATA_CUDA STREQUAL "AUTO")
    set(cuda_architectures native)
  endif()
  find_program(STRATA_NVCC nvcc
    HINTS "${CUDAToolkit_ROOT}" ENV CUDAToolkit_ROOT ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(STRATA_NVCC)
  if(NOT STRATA_NVCC)
    set(${problem} "no CUDA toolkit was found (nvcc)")
  elseif(STRATA_CUDA STREQUAL "AUTO" AND NOT EXISTS /proc/driver/nvidia/version)
    set(${problem} "no NVIDIA GPU is here (STRATA_CUDA=ON builds them all the same)")
  else()
    # By the environment: a compiler that is set by the variable would count as checked.
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} "${STRATA_NVCC}")
    endif()
    # One binary per generation that has instructions of its own; newer chips translate the last one's PTX.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
      set(CMAKE_CUDA_ARCHITECTURES "${cuda_architectures}" CACHE STRING "GPUs to compile for")
    endif()
    if(STRATA_CUDA STREQUAL "AUTO")
      include(CheckLanguage)
      check_language(CUDA)
    endif()
    if(STRATA_CUDA STREQUAL "AUTO" AND NOT CMAKE_CUDA_COMPILER)
      set(${problem} "${STRATA_NVCC} does not work with this compiler")
    else()
      enable_language(CUDA)
      find_package(CUDAToolkit 12)
      if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static)
        set(${problem} "no CUDA toolkit of version 12 or newer with its run time was found")
      else()
        find_path(STRATA_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
        mark_as_advanced(STRATA_CUBLASLT_INCLUDE_DIR)
        find_path(STRATA_CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
        mark_as_advanced(STRATA_CUBLAS_INCLUDE_DIR)
        if(NOT STRATA_CUBLASLT_INCLUDE_DIR OR NOT STRATA_CUBLAS_INCLUDE_DIR)
          set(${problem} "the CUDA toolkit has no cublasLt.h and cublas_v2.h")
        endif()
      endif()
    endif()
  endif()
endmacro()

set(cuda_problem "")
if(NOT STRATA_CUDA)  # OFF, NO, 0
  set(cuda_problem "STRATA_CUDA=OFF")
else()
  strata_find_cuda(cuda_problem)
  if(cuda_problem AND NOT STRATA_CUDA STREQUAL "AUTO")
    # Asked for and absent is an error: a build that silently lacks CUDA would answer "no device" for the wrong reason.
    message(FATAL_ERROR "STRATA_CUDA=ON, but ${cuda_problem}. Install NVIDIA's toolkit (Debian main does not carry "
      "it) and point CUDAToolkit_ROOT at it, or configure with STRATA_CUDA=OFF.")
  endif()
endif()

if(cuda_problem)
  list(APPEND STRATA_ABSENT_PARTS cuda)
  strata_note_part(cuda no "measurements on NVIDIA GPUs" "NVIDIA GPUs are predicted, not measured")
  message(STATUS "Without measurements on NVIDIA GPUs: ${cuda_problem}")
else()
  list(APPEND STRATA_PRESENT_PARTS cuda)
  strata_note_part(cuda yes "measurements on NVIDIA GPUs" "NVIDIA GPUs are predicted, not measured")
  set(STRATA_CUDA_TOOLKIT_VERSION "${CUDAToolkit_VERSION}")

  # Frameworks compute convolutions, norms, pooling and recurrent layers by cuDNN; where its header is, Strata does.
  set(STRATA_WITH_CUDNN AUTO CACHE STRING "cuDNN on NVIDIA GPUs: AUTO, ON or OFF")
  set_property(CACHE STRATA_WITH_CUDNN PROPERTY STRINGS AUTO ON OFF)
  if(NOT STRATA_WITH_CUDNN STREQUAL "OFF")
    find_path(STRATA_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    mark_as_advanced(STRATA_CUDNN_INCLUDE_DIR)
  endif()
  if(STRATA_CUDNN_INCLUDE_DIR AND NOT STRATA_WITH_CUDNN STREQUAL "OFF")
    list(APPEND STRATA_PRESENT_PARTS cudnn)
    strata_note_part(cudnn yes "convolutions, norms, pooling, recurrent layers on NVIDIA GPUs by cuDNN"
      "plain kernels compute them, many times slower than a framework")
    list(APPEND STRATA_OPTIONAL_INCLUDE_DIRS "${STRATA_CUDNN_INCLUDE_DIR}")
  elseif(STRATA_WITH_CUDNN STREQUAL "ON")
    message(FATAL_ERROR "STRATA_WITH_CUDNN=ON, but cudnn.h was not found. Set STRATA_CUDNN_INCLUDE_DIR, or configure "
      "with STRATA_WITH_CUDNN=OFF.")
  else()
    list(APPEND STRATA_ABSENT_PARTS cudnn)
    strata_note_part(cudnn no "convolutions, norms, pooling, recurrent layers on NVIDIA GPUs by cuDNN"
      "plain kernels compute them, many times slower than a framework")
    message(STATUS "Without cuDNN (STRATA_WITH_CUDNN): plain kernels compute convolutions on NVIDIA GPUs")
  endif()
endif()

# strata_add_cuda_kernels(<target>): compiles the *.cu and gives <target> what its CUDA sources need.
function(strata_add_cuda_kernels target)
  if(NOT cuda IN_LIST STRATA_PRESENT_PARTS)
    return()
  endif()
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/strata/*.cu")
  add_library(strata_cuda_kernels OBJECT ${kernels})
  target_include_directories(strata_cuda_kernels PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(strata_cuda_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(strata_cuda_kernels PRIVATE
    -std=c++20  # CMake 3.25 has no name for it
    "SHELL:-Xcompiler -Wall,-Wextra" $<$<BOOL:${STRATA_WERROR}>:--Werror=all-warnings>)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:strata_cuda_kernels>)
  target_link_libraries(${target} PRIVATE CUDA::cudart_static)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/strata/measure/ceilings/cuda/cublaslt.cpp"
    "${PROJECT_SOURCE_DIR}/src/strata/gpu/cuda/loaded_library.cpp" PROPERTIES
    COMPILE_DEFINITIONS "STRATA_CUDA_LIBRARY_DIR=\"${CUDAToolkit_LIBRARY_DIR}\"" SKIP_UNITY_BUILD_INCLUSION ON)
  foreach(one ${target} strata_cold)  # gpu/ is in the second
    target_include_directories(${one} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endforeach()
endfunction()
