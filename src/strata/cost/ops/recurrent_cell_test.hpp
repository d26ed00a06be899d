// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/naive_check_test.hpp"

/// What the passes of recurrent_test.cpp share: where weights and saved things stand, and what a
/// cell sees.
namespace strata::naive {

/// Sizes and places that all three passes need. Tensors of a cell (one layer in one direction)
/// follow each other: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr.
struct Stack {
  Recurrent op;

  std::int64_t directions() const { return op.bidirectional ? 2 : 1; }
  std::int64_t width() const { return op.projection > 0 ? op.projection : op.hidden; }
  std::int64_t gates() const {
    return op.cell == CellKind::lstm ? 4 : op.cell == CellKind::gru ? 3 : 1;
  }
  std::size_t own_of(std::int64_t layer, std::int64_t direction, std::size_t which) const {
    const std::int64_t tensors = 2 + op.biases + (op.projection > 0 ? 1 : 0);
    return static_cast<std::size_t>((layer * directions() + direction) * tensors) + which;
  }
  std::size_t projection_of(std::int64_t layer, std::int64_t direction) const {
    return own_of(layer, direction, 2 + static_cast<std::size_t>(op.biases));
  }
  bool is_top(std::int64_t layer) const { return layer == op.layers - 1; }
};

/// Where the saved things stand, in the order in which they are made.
struct Saved {
  std::size_t gates = 0, cells = 0, hidden = 0, unprojected = 0, gate_gradients = 0,
              state_gradients = 0;
};

template <class T>
Saved make_saved(const Stack& stack, Run<T>& run) {
  const Recurrent& op = stack.op;
  const Index cell_steps = {op.layers, stack.directions(), run.input(0)[0], run.input(0)[1]};
  const std::int64_t bytes = run.element_bytes(0);
  Saved saved;
  const bool is_gated = op.cell == CellKind::lstm || op.cell == CellKind::gru;
  if (is_gated) saved.gates = run.save("gates", joined(cell_steps, {4, op.hidden}), bytes);
  if (op.cell == CellKind::lstm)
    saved.cells = run.save("cells", joined(cell_steps, {op.hidden}), bytes);
  if (op.layers > 1) {
    saved.hidden = run.save(
        "hidden",
        {op.layers - 1, run.input(0)[0], run.input(0)[1], stack.directions() * stack.width()},
        bytes);
  }
  if (op.projection > 0)
    saved.unprojected = run.save("unprojected", joined(cell_steps, {op.hidden}), bytes);
  saved.gate_gradients = saved.gates;
  if (!is_gated)
    saved.gate_gradients = run.save("gate gradients", joined(cell_steps, {1, op.hidden}), bytes);
  if (op.projection > 0) {
    saved.state_gradients = run.save("state gradients", joined(cell_steps, {stack.width()}), bytes);
  }
  return saved;
}

template <class T>
Saved places_of(const Run<T>& run) {
  Saved saved;
  const auto& things = run.saved_things();
  for (std::size_t i = 0; i < things.size(); ++i) {
    if (things[i].name == "gates") saved.gates = saved.gate_gradients = i;
    if (things[i].name == "cells") saved.cells = i;
    if (things[i].name == "hidden") saved.hidden = i;
    if (things[i].name == "unprojected") saved.unprojected = i;
    if (things[i].name == "gate gradients") saved.gate_gradients = i;
    if (things[i].name == "state gradients") saved.state_gradients = i;
  }
  return saved;
}

/// One layer in one direction for one sample, step by step.
template <class T>
struct Cell {
  const Stack& stack;
  Run<T>& run;
  const Saved& saved;
  std::int64_t layer, direction, sample;

  Tensor<T>& own(std::size_t which) { return run.own(stack.own_of(layer, direction, which)); }
  Index at(std::int64_t t, Index tail) const { return joined({layer, direction, sample, t}, tail); }
  std::int64_t steps() const { return run.input(0)[1]; }
  std::int64_t step(std::int64_t k) const { return direction == 0 ? k : steps() - 1 - k; }
  std::int64_t state_row() const { return layer * stack.directions() + direction; }
  std::int64_t inputs() { return own(0)[1]; }

  /// What this layer reads at time t: X, or what the layer below left.
  T x(std::int64_t t, std::int64_t i) {
    return layer == 0 ? run.input(0)({sample, t, i})
                      : run.saved(saved.hidden)({layer - 1, sample, t, i});
  }
  /// h after the k-th step of this direction; before the first, the given state or zero.
  T h(std::int64_t k, std::int64_t j) {
    if (k < 0) return run.first_own() > 1 ? run.input(1)({state_row(), sample, j}) : T(0);
    const std::int64_t place = direction * stack.width() + j;
    if (stack.is_top(layer)) return run.output()({sample, step(k), place});
    return run.saved(saved.hidden)({layer, sample, step(k), place});
  }
  T c(std::int64_t k, std::int64_t u) {
    if (k < 0) return run.first_own() > 2 ? run.input(2)({state_row(), sample, u}) : T(0);
    return run.saved(saved.cells)(at(step(k), {u}));
  }
};

}  // namespace strata::naive
