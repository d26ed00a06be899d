// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/per_target.hpp"

#include <dlfcn.h>
#include <hwy/detect_targets.h>

namespace strata::cpu {
namespace {

std::int64_t supported_targets() {
  void* library = nullptr;
  for (const char* name : {STRATA_HIGHWAY_LIBRARY, "libhwy.so.1"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return 0;
  void* function = dlsym(library, "_ZN3hwy16SupportedTargetsEv");
  return function == nullptr ? 0 : reinterpret_cast<std::int64_t (*)()>(function)();
}

}  // namespace

std::int64_t targets_of_this_cpu() {
  // What the program is compiled for can be run in any case.
  static const std::int64_t targets = supported_targets() | HWY_STATIC_TARGET;
  return targets;
}

}  // namespace strata::cpu
