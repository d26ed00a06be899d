// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/per_target.hpp"

#include <dlfcn.h>
#include <hwy/detect_targets.h>

namespace strata::cpu {
namespace {

/// 0: there is no such library.
std::int64_t ask_library() {
  void* library = nullptr;
  for (const char* name : {STRATA_HIGHWAY_LIBRARY, "libhwy.so.1"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return 0;
  void* function = dlsym(library, "_ZN3hwy16SupportedTargetsEv");
  return function == nullptr ? 0 : reinterpret_cast<std::int64_t (*)()>(function)();
}

std::int64_t known_targets() {
  static const std::int64_t targets = ask_library();
  return targets;
}

}  // namespace

// What the program is compiled for can be run in any case.
std::int64_t targets_of_this_cpu() { return known_targets() | HWY_STATIC_TARGET; }
bool knows_this_cpu() { return known_targets() != 0; }

}  // namespace strata::cpu
