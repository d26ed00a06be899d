// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <cstdint>
#include <string>

namespace strata {

/// Names of calls by the numbers that CUPTI has for them (cupti_runtime_cbid.h,
/// cupti_driver_cbid.h), which stay the same from one version to the next: those that training
/// programs make. Others are "runtime call 61", "driver call 400".
std::string call_name_of_cupti(ApiKind kind, std::int64_t number);

}  // namespace strata
