// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/pooling/pool_plan.hpp"
#include "strata/measure/cpu/pooling/window_pool.hpp"

/// Pooling of float planes over windows of 2 × 2 or 3 × 3, row by row, where vectors are short.
/// row_pool_loops.hpp has the loops.
namespace strata::cpu_training {

bool can_pool_rows(const PoolPlan& plan);
/// Windows of 2 × 2 that lie side by side, all of them inside.
bool has_whole_pairs(const PoolPlan& plan);

/// tap_spread.hpp has the way back.
void largest_by_rows(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);

void mean_by_rows(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                  const NodeMemory& m);

}  // namespace strata::cpu_training
