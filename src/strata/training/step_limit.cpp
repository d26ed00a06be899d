// SPDX-License-Identifier: Apache-2.0
#include "strata/training/step_limit.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/training/time_axis.hpp"

#include <limits>

namespace strata {
namespace {

/// Steps of one cell (recurrent_run.cpp): its products, then its point-wise operations; backward
/// has at least as many, an LSTM's two more.
struct CellSteps {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
};

CellSteps steps_of_cell(const Recurrent& op) {
  const std::int64_t products = op.fused_gates ? 1 : gates_of(op.cell);
  switch (op.cell) {
    case CellKind::lstm: return {products + 9, products + 11};
    case CellKind::gru: return {products + 8, products + 8};
    default: return {products + 1, products + 1};
  }
}

/// Of a recurrent layer that is unrolled.
Count steps_of_cells(const Recurrent& op, std::int64_t times, bool is_training) {
  const CellSteps cell = steps_of_cell(op);
  return Count(times) * op.layers * (op.bidirectional ? 2 : 1) *
         (cell.forward + (is_training ? cell.backward : 0));
}

/// Dropout does nothing in inference.
bool is_left_out(const Operator& op, const TrainingOptions& options) {
  return options.inference && std::holds_alternative<Dropout>(op);
}

}  // namespace

std::int64_t least_steps(const BoundGraph& bound, const TrainingOptions& options) {
  constexpr std::int64_t too_many = std::numeric_limits<std::int64_t>::max();
  try {
    Count cells, others;
    for (const Node& node : bound.graph->nodes) {
      const Recurrent* recurrent = std::get_if<Recurrent>(&node.op);
      if (recurrent != nullptr && options.unroll_recurrent) {
        cells += steps_of_cells(*recurrent, bound.tensors[node.outputs[0]][1], !options.inference);
      } else if (class_of(node.op) != LayerClass::other && !is_left_out(node.op, options)) {
        others += 1;
      }
    }
    if (options.inference) return (cells + others).value();
    return ((cells + others) * options.micro_batches).value();
  } catch (const Error&) {
    return too_many;  // more than 64 bits count
  }
}

void require_few_steps(std::int64_t steps) {
  if (steps <= most_steps) return;
  fail(ErrorKind::usage,
       "the iteration has at least {} steps, and at most {} are planned, which take 2 GB: ask for "
       "a "
       "shorter sequence (--seq), fewer micro-batches (--micro-batches), or a smaller network",
       steps, most_steps);
}

void require_few_steps(std::int64_t steps_of_round, std::int64_t rounds) {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  try {
    steps = checked_mul(steps_of_round, rounds);
  } catch (const Error&) {  // more than 64 bits count
  }
  require_few_steps(steps);
}

}  // namespace strata
