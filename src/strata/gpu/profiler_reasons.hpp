// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Why the profiling library of NVIDIA (CUPTI) refuses, in words that say what to do. Kept apart
/// from the library, so that the words are there, and tested, without it.
namespace strata {

/// What a refusal means and what helps; empty where the library's own word must do.
std::string_view profiler_advice(int status);

/// "cuptiSubscribe_v2: another profiler is attached … (CUPTI_ERROR_…, 39)".
std::string profiler_problem(std::string_view call, int status, std::string_view status_name);

/// The option of NVIDIA's kernel module that lets everybody read counters, and where it goes.
std::string_view counter_permission_advice();

}  // namespace strata
