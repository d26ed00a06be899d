# SPDX-License-Identifier: Apache-2.0
# The libraries Strata uses; docs/dependencies.md says why each is here. All are found, none is downloaded:
# from the distribution, or from CMAKE_PREFIX_PATH (Spack, conda).

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus 3 REQUIRED)  # cmake/Findtomlplusplus.cmake
if(STRATA_BUILD_CLI)
  find_package(CLI11 2.1 REQUIRED)
endif()

# Asked for and absent is an error: a build that silently lacks CUDA would answer "no device" for the wrong reason.
set(STRATA_CUDA_TOOLKIT_VERSION "")
if(STRATA_CUDA)
  find_package(CUDAToolkit)
  if(NOT CUDAToolkit_FOUND)
    message(FATAL_ERROR "STRATA_CUDA=ON, but no CUDA toolkit was found. Install NVIDIA's toolkit (Debian main "
      "does not carry it) and point CUDAToolkit_ROOT at it, or configure with STRATA_CUDA=OFF.")
  endif()
  set(STRATA_CUDA_TOOLKIT_VERSION "${CUDAToolkit_VERSION}")
endif()
