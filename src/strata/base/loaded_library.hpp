// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"

#include <dlfcn.h>

namespace strata {

/// A library that is loaded when it is first needed, because loading takes longer than most
/// commands run, and never closed.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* path) : path_(path), handle_(nullptr) {
    handle_ = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      fail(ErrorKind::environment, "a library cannot be loaded: {}", ::dlerror());
    }
  }

  template <class Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr) fail(ErrorKind::environment, "{} lacks {}", path_, name);
  }

 private:
  const char* path_;
  void* handle_;
};

}  // namespace strata
