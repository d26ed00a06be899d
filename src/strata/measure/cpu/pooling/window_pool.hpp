// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/pooling/pool_plan.hpp"

/// Pooling of float planes over windows of 3 × 3 with stride 1 or 2, and of 2 × 2 that do not
/// overlap: those of most networks. window_loops.hpp has the loops.
namespace strata::cpu_training {

bool has_windows_of_three(const PoolPlan& plan);
void largest_of_threes(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);
void largest_of_threes_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);

/// What average pooling divides by: 1 / rows for each row of outputs, 1 / columns for each output
/// of a row, with room behind them.
struct PoolShares {
  const float *of_rows, *of_columns;
};
void mean_of_threes(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                    const NodeMemory& m);
/// With stride 1 only: each gradient is a sum over a window of its own then.
void mean_of_threes_backward(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                             const NodeMemory& m);

bool has_pairs(const PoolPlan& plan);
void largest_of_pairs(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);
void largest_of_pairs_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);
void mean_of_pairs(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);
void mean_of_pairs_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);

/// Mean of whole planes.
bool has_short_planes(const PoolPlan& plan);
void mean_of_planes(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);
void mean_of_planes_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);

}  // namespace strata::cpu_training
