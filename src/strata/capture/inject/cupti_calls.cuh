// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstdint>
#include <string>

namespace strata::inject {

/// The functions of the CUPTI that is in the process already, or else of the one that is found.
/// Frameworks bring a copy of their own, and two in one process do not see each other.
struct CuptiCalls {
#define STRATA_CALL(member, function) decltype(&function) member = nullptr;
#include "strata/capture/inject/cupti_calls.inc"
#include "strata/capture/inject/cupti_counter_calls.inc"
#undef STRATA_CALL
  decltype(&cuptiSubscribe_v2) subscribe_by_name = nullptr;  ///< says who is there; newer ones only
  decltype(&cuptiActivityEnableDriverApi) enable_driver_call = nullptr;  ///< newer ones only
  void* library = nullptr;
  std::uint32_t number = 0;  ///< of its version: 130001
  std::string problem;       ///< why it cannot be used; empty: it can
  std::string counter_problem;
};

const CuptiCalls& cupti();

/// "cuptiActivityEnable: CUPTI_ERROR_NOT_INITIALIZED (15)".
std::string cupti_problem(const char* call, CUptiResult status);

/// A structure of parameters as CUPTI wants it: its size first, and zero elsewhere.
#define STRATA_PARAMETERS(type, name) \
  type name{};                        \
  name.structSize = type##_STRUCT_SIZE

}  // namespace strata::inject
