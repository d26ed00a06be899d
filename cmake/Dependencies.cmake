# SPDX-License-Identifier: Apache-2.0
# The libraries Strata uses; docs/dependencies.md says why each is here. All are found, none is downloaded:
# from the distribution, or from CMAKE_PREFIX_PATH (Spack, conda).

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
if(STRATA_BUILD_CLI)
  find_package(CLI11 2.1 REQUIRED)
endif()
