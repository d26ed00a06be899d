// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cupti/kernel_name.cuh"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace strata::cupti {
namespace {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

std::string readable_kernel_name(const char* name) {
  if (name == nullptr) return "a kernel without a name";
  int status = 0;
  const std::unique_ptr<char, FreeMemory> readable(
      abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return status == 0 && readable != nullptr ? readable.get() : name;
}

}  // namespace strata::cupti
