// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/node_context.hpp"
#include "strata/measure/cpu/plain/loops.hpp"

#include <string>

namespace strata::cpu_training::plain {

/// Sizes and places that the passes of a recurrent node share. A cell is one layer in one
/// direction; its weights follow each other: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr.
/// Rows (one sample at one time) hold `slots` vectors of `hidden` numbers: the gates of an LSTM
/// (i, f, g, o) or a GRU (r, z, n and the state's part of n), the state of a plain cell. Backward
/// puts the gradients under the gates in their place.
struct RecurrentPlan {
  Recurrent op;
  std::int64_t batch = 0, steps = 0, features = 0;
  bool has_h0 = false, has_c0 = false;
  bool keeps = false;  ///< forward leaves its work for backward

  RecurrentPlan(const Recurrent& recurrent, const NodeContext& context);

  std::int64_t directions() const { return op.bidirectional ? 2 : 1; }
  std::int64_t cells() const { return op.layers * directions(); }
  std::int64_t width() const { return op.projection > 0 ? op.projection : op.hidden; }
  std::int64_t gates() const {
    return op.cell == CellKind::lstm ? 4 : op.cell == CellKind::gru ? 3 : 1;
  }
  std::int64_t slots() const { return op.cell == CellKind::gru ? 4 : gates(); }
  std::int64_t rows() const { return batch * steps; }
  std::int64_t row_step() const { return slots() * op.hidden; }
  std::int64_t layer_width() const { return directions() * width(); }
  std::int64_t inputs_of(std::int64_t layer) const { return layer == 0 ? features : layer_width(); }
  /// Time of the k-th step of a direction.
  std::int64_t time(std::int64_t direction, std::int64_t k) const {
    return direction == 0 ? k : steps - 1 - k;
  }

  /// Position of a cell's own tensors among the inputs of the node.
  std::size_t own(std::int64_t cell, std::int64_t which) const {
    const std::int64_t tensors = 2 + op.biases + (op.projection > 0 ? 1 : 0);
    return first_own + static_cast<std::size_t>(cell * tensors + which);
  }
  std::size_t projection_input(std::int64_t cell) const { return own(cell, 2 + op.biases); }
  std::size_t first_own = 1;

  // What is kept, in numbers from the beginning of the saved memory.
  std::int64_t gates_at(std::int64_t cell) const { return cell * rows() * row_step(); }
  std::int64_t states_at(std::int64_t cell) const {
    return gates_at(cells()) + cell * rows() * op.hidden;
  }
  std::int64_t states_end() const {
    return op.cell == CellKind::lstm ? states_at(cells()) : gates_at(cells());
  }
  /// What a layer below the top puts out.
  std::int64_t hidden_at(std::int64_t layer) const {
    return states_end() + layer * rows() * layer_width();
  }
  std::int64_t unprojected_at(std::int64_t cell) const {
    return hidden_at(op.layers - 1) + cell * rows() * op.hidden;
  }
  std::int64_t state_gradients_at(std::int64_t cell) const {
    return unprojected_at(cells()) + cell * rows() * width();
  }
  std::int64_t kept_elements() const {
    return op.projection > 0 ? state_gradients_at(cells()) : hidden_at(op.layers - 1);
  }
  /// Of backward: two layers' gradients, the state's, what the state was one step before.
  std::int64_t scratch_elements() const {
    return 2 * rows() * layer_width() + batch * (2 * width() + 2 * op.hidden) + rows() * width();
  }
};

template <class T>
void recurrent_forward(const RecurrentPlan& plan, const NodeMemory& m);
template <class T>
void recurrent_backward(const RecurrentPlan& plan, const NodeMemory& m);

/// Where a layer's result lies: the node's output for the top one.
template <class T>
T* layer_result(const RecurrentPlan& plan, const NodeMemory& m, T* kept, std::int64_t layer) {
  return layer == plan.op.layers - 1 ? numbers<T>(m.outputs[0]) : kept + plan.hidden_at(layer);
}

/// What a layer reads: X, or the result of the one below.
template <class T>
const T* layer_input(const RecurrentPlan& plan, const NodeMemory& m, T* kept, std::int64_t layer) {
  return layer == 0 ? numbers<T>(m.inputs[0]) : kept + plan.hidden_at(layer - 1);
}

}  // namespace strata::cpu_training::plain
