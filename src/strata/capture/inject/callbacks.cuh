// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/capture_session.hpp"
#include "strata/capture/inject/cupti_calls.cuh"
#include "strata/capture/inject/kernel_counters.cuh"

#include <string>

namespace strata::inject {

/// Where CUPTI calls us while the program runs.
struct Callbacks {
  CaptureSession* session = nullptr;
  KernelCounters* counters = nullptr;  ///< null: times are recorded

  /// Subscribes and asks for what the options need. Empty, or why not.
  std::string begin();
};

}  // namespace strata::inject
