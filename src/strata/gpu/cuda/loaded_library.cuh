// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Libraries of the CUDA toolkit that are loaded when they are first needed: they are hundreds of
/// megabytes, and a computer without them still has our own kernels.
namespace strata::cuda {

class LoadedLibrary {
 public:
  LoadedLibrary() = default;
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  /// Where the loader looks, else in the toolkit of the build. False, and `problem`: it is nowhere.
  bool open(const std::string& name);
  /// False, and `problem`: the library has no such function.
  template <class Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(symbol(name));
    return function != nullptr;
  }
  std::string problem;

 private:
  void* symbol(const char* name);
  void* handle_ = nullptr;
};

}  // namespace strata::cuda
