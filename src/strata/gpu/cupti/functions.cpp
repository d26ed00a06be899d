// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cupti/functions.cuh"

#include "strata/base/error.hpp"
#include "strata/gpu/profiler_reasons.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace strata::cupti {
namespace {

std::atomic<Activity> claimed = Activity::none;

void* open_library() {
  // By its name first: a copy that is in the process already is then the one that we get.
  const std::string names[] = {fmt::format("libcupti.so.{}", CUDA_VERSION / 1000),
                               STRATA_CUPTI_LIBRARY};
  for (const std::string& name : names) {
    // Never closed: it leaves threads behind.
    if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  fail(ErrorKind::environment,
       "{} was not found; it is part of the CUDA toolkit (extras/CUPTI): put its folder into "
       "LD_LIBRARY_PATH",
       names[0]);
}

CuptiFunctions load_functions() {
  void* const library = open_library();
  CuptiFunctions cupti;
#define STRATA_CUPTI(member, function)                                               \
  cupti.member = reinterpret_cast<decltype(&function)>(::dlsym(library, #function)); \
  if (cupti.member == nullptr)                                                       \
    fail(ErrorKind::environment, "the CUPTI of this computer has no {}; it is too old", #function);
#include "strata/gpu/cupti/functions.inc"
#undef STRATA_CUPTI
  std::uint32_t version = 0;
  if (cupti.version(&version) != CUPTI_SUCCESS || version < CUPTI_API_VERSION) {
    fail(ErrorKind::environment,
         "the CUPTI of this computer is version {}, Strata was built with {}; load a newer one, or "
         "build Strata here",
         version, CUPTI_API_VERSION);
  }
  return cupti;
}

}  // namespace

const CuptiFunctions& cupti_functions() {
  static const CuptiFunctions cupti = load_functions();
  return cupti;
}

void require_driver() {
  // Never closed: whoever asks is about to use it.
  if (::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    fail(ErrorKind::environment,
         "NVIDIA's driver is not on this computer (no libcuda.so.1); in a container, start it with "
         "the GPUs (--gpus all)");
  }
}

void check_cupti(CUptiResult status, const char* call) {
  if (status == CUPTI_SUCCESS) return;
  const char* name = nullptr;
  if (cupti_functions().status_name(status, &name) != CUPTI_SUCCESS || name == nullptr)
    name = "an error without a name";
  fail(ErrorKind::environment, "{}", profiler_problem(call, static_cast<int>(status), name));
}

void claim(Activity activity) {
  Activity expected = Activity::none;
  if (claimed.compare_exchange_strong(expected, activity)) return;
  fail(ErrorKind::environment, "{} already, and only one can be done at a time",
       expected == Activity::trace ? "the GPU's work is being recorded"
                                   : "the GPU's counters are being read");
}

void release() { claimed = Activity::none; }

}  // namespace strata::cupti
