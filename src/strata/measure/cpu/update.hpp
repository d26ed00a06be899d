// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/device.hpp"

namespace strata::cpu_training {

void update_parameter(const UpdateRule& rule, const UpdateMemory& memory);

/// sum = a + b; sum may be one of them.
void add_numbers(void* sum, const void* a, const void* b, std::int64_t elements, DType dtype);

}  // namespace strata::cpu_training
