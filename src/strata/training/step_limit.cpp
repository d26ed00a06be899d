// SPDX-License-Identifier: Apache-2.0
#include "strata/training/step_limit.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/training/time_axis.hpp"

#include <limits>

namespace strata {
namespace {

/// Of a recurrent layer that is unrolled.
Count steps_of_cells(const Recurrent& op, std::int64_t times) {
  const std::int64_t gates = gates_of(op.cell);
  const std::int64_t products = op.fused_gates ? 1 : gates;
  return Count(times) * op.layers * (op.bidirectional ? 2 : 1) * (products + gates);
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
        cells += steps_of_cells(*recurrent, bound.tensors[node.outputs[0]][1]);
      } else if (class_of(node.op) != LayerClass::other && !is_left_out(node.op, options)) {
        others += 1;
      }
    }
    if (options.inference) return (cells + others).value();
    return ((cells * 2 + others) * options.micro_batches).value();
  } catch (const Error&) {
    return too_many;  // more than 64 bits count
  }
}

void require_few_steps(std::int64_t steps) {
  if (steps <= most_steps) return;
  fail(ErrorKind::usage,
       "the iteration has at least {} steps, and at most {} are laid out: ask for a shorter "
       "sequence (--seq), fewer micro-batches, or a smaller network",
       steps, most_steps);
}

}  // namespace strata
