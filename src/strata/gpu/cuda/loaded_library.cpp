// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/loaded_library.cuh"

#include <dlfcn.h>
#include <fmt/format.h>

namespace strata::cuda {

LoadedLibrary::~LoadedLibrary() {
  // Never closed: the libraries leave threads and handlers behind that outlive their last user.
}

bool LoadedLibrary::open(const std::string& name) {
  for (const std::string& path : {name, fmt::format("{}/{}", STRATA_CUDA_LIBRARY_DIR, name)}) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return true;
  }
  problem = fmt::format("{} was not found", name);
  return false;
}

void* LoadedLibrary::symbol(const char* name) {
  void* found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
  if (found == nullptr && problem.empty()) problem = fmt::format("the library has no {}", name);
  return found;
}

}  // namespace strata::cuda
