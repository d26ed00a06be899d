// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/pooling/pool_plan.hpp"

/// The way back through max pooling of float planes over windows of 2 × 2 that lie side by side, or
/// of 3 × 3 with stride 1 or 2, where vectors are short. tap_loops.hpp has the loops.
namespace strata::cpu_training {

bool can_spread_taps(const PoolPlan& plan);
void spread_taps(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);

}  // namespace strata::cpu_training
