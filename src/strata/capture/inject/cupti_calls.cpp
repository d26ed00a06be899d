// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/inject/cupti_calls.cuh"

#include <dlfcn.h>

namespace strata::inject {
namespace {

constexpr std::uint32_t oldest_version = 18;  // CUDA 12.0; what is read of its records is the same

void* open_cupti() {
  constexpr const char* names[] = {"libcupti.so.13", "libcupti.so.12"};
  for (const char* name : names) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  for (const char* name : names) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return ::dlopen(STRATA_CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

CuptiCalls load_calls() {
  CuptiCalls calls;
  calls.library = open_cupti();
  if (calls.library == nullptr) {
    calls.problem =
        "libcupti.so.13 was not found; it is part of the CUDA toolkit (extras/CUPTI) and of the "
        "frameworks' packages: put its folder into LD_LIBRARY_PATH";
    return calls;
  }
  std::string* problem = &calls.problem;
#define STRATA_CALL(member, function)                                                      \
  calls.member = reinterpret_cast<decltype(&function)>(::dlsym(calls.library, #function)); \
  if (calls.member == nullptr && problem->empty())                                         \
    *problem = "the CUPTI of this program has no " #function "; it is too old";
#include "strata/capture/inject/cupti_calls.inc"
  problem = &calls.counter_problem;
#include "strata/capture/inject/cupti_counter_calls.inc"
#undef STRATA_CALL
  calls.subscribe_by_name =
      reinterpret_cast<decltype(&cuptiSubscribe_v2)>(::dlsym(calls.library, "cuptiSubscribe_v2"));
  calls.enable_driver_call = reinterpret_cast<decltype(&cuptiActivityEnableDriverApi)>(
      ::dlsym(calls.library, "cuptiActivityEnableDriverApi"));
  if (!calls.problem.empty()) return calls;
  if (calls.version(&calls.number) != CUPTI_SUCCESS || calls.number < oldest_version)
    calls.problem = "the CUPTI of this program is version " + std::to_string(calls.number) +
                    ", older than CUDA 12";
  return calls;
}

}  // namespace

const CuptiCalls& cupti() {
  static const CuptiCalls* const calls = new CuptiCalls(load_calls());  // outlives every thread
  return *calls;
}

std::string cupti_problem(const char* call, CUptiResult status) {
  const char* name = nullptr;
  if (cupti().status_name == nullptr || cupti().status_name(status, &name) != CUPTI_SUCCESS ||
      name == nullptr)
    name = "an error without a name";
  return std::string(call) + ": " + name + " (" + std::to_string(static_cast<int>(status)) + ")";
}

}  // namespace strata::inject
