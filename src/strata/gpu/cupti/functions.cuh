// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace strata::cupti {

/// The functions of CUPTI that Strata calls. The library is loaded when they are first asked for:
/// nearly every run does without, and a program that has loaded a copy of its own (a framework in
/// the same process) must share it.
struct CuptiFunctions {
#define STRATA_CUPTI(member, function) decltype(&function) member = nullptr;
#include "strata/gpu/cupti/functions.inc"
#undef STRATA_CUPTI
};

/// What they are called, for messages.
struct CuptiNames {
#define STRATA_CUPTI(member, function) static constexpr const char* member = #function;
#include "strata/gpu/cupti/functions.inc"
#undef STRATA_CUPTI
};

/// Errors (environment): it is not on this computer, or older than what Strata was built with,
/// whose records have another layout.
const CuptiFunctions& cupti_functions();

/// Errors (environment) where NVIDIA's driver is not: CUPTI itself then fails without a reason.
void require_driver();

/// Throws Error (environment) with the reason and what helps.
void check_cupti(CUptiResult status, const char* call);

#define STRATA_CUPTI_CALL(member, ...)                                                 \
  ::strata::cupti::check_cupti(::strata::cupti::cupti_functions().member(__VA_ARGS__), \
                               ::strata::cupti::CuptiNames::member)

/// A structure of parameters as CUPTI wants it: its size first, and zero elsewhere.
#define STRATA_CUPTI_PARAMETERS(type, name) \
  type name{};                              \
  name.structSize = type##_STRUCT_SIZE

/// What is on in this process. Recording and SASS counters together count zero without an error
/// (measured on an H200), and the library has one subscriber: so one of them at a time.
enum class Activity { none, trace, counters };
/// Errors (environment) when another one is on.
void claim(Activity activity);
void release();

}  // namespace strata::cupti
