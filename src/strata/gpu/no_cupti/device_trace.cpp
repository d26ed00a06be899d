// SPDX-License-Identifier: Apache-2.0
// Stands for cupti/device_trace.cpp in a build without CUPTI.
#include "strata/gpu/device_trace.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/no_cupti/refusal.hpp"

namespace strata {

std::unique_ptr<DeviceTrace> begin_device_trace(const DeviceTraceLimits&) {
  fail(ErrorKind::environment, "{}", built_without_cupti);
}

}  // namespace strata
