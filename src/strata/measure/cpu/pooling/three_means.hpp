// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/pooling/pool_plan.hpp"
#include "strata/measure/cpu/pooling/window_pool.hpp"

/// Average pooling of float planes over windows of 3 × 3 with stride 1, both ways, where vectors
/// are short. Columns of three rows are added up and then what lies side by side, with nothing
/// stored between.
namespace strata::cpu_training {

bool can_mean_threes(const PoolPlan& plan);
void means_of_threes(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                     const NodeMemory& m);
void means_of_threes_backward(const PoolPlan& plan, const Workers& workers,
                              const PoolShares& shares, const NodeMemory& m);

}  // namespace strata::cpu_training
