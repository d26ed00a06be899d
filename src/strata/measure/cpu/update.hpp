// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/workers.hpp"
#include "strata/measure/engine/device.hpp"

namespace strata::cpu_training {

void update_parameter(const Workers& workers, const UpdateRule& rule, const UpdateMemory& memory);

void add_numbers(const Workers& workers, void* sum, const void* a, const void* b,
                 std::int64_t elements, DType dtype);

}  // namespace strata::cpu_training
