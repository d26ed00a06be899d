// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program_builder.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <unordered_map>
#include <vector>

namespace strata {

/// The values of a cell at one time step beside its output; `Value::part` holds the number.
enum class CellSlot : std::uint32_t {
  raw_0,  ///< what the products of the gates come to: i, f, g, o; r, z, n and U_n h
  raw_1,
  raw_2,
  raw_3,
  gate_0,  ///< the gates
  gate_1,
  gate_2,
  gate_3,
  cell,         ///< c
  cell_tanh,    ///< tanh(c)
  unprojected,  ///< o·tanh(c) where a projection follows
  hidden,       ///< h of a layer that is not the top one
  term_0,       ///< parts of sums
  term_1,
  term_2,
  spare,
};
inline constexpr std::uint32_t cell_slots = 16;

/// One recurrent node, cell by cell: for every layer, direction and time step the products of the
/// gates (one step per gate, or one for all when they are fused), then the gates and the cell, each
/// operation a step. Weights are the same values at every time step, and their gradients add up.
/// What several products contribute to one gradient of x or h is added in steps of its own. Beside
/// these sums the arithmetic is that of the node's cost sheet, no operation more or less; where a
/// first state is not given, products with zero are counted as there.
class RecurrentRun {
 public:
  RecurrentRun(ProgramBuilder& builder, NodeId node);

  /// All of the node, or one time step of all its layers.
  void forward(const Instance& instance, bool is_recomputed);
  void backward(const Instance& instance);

 private:
  struct Cell {
    std::uint32_t layer, direction;
    std::uint32_t step;   // in the order in which the direction runs
    std::uint32_t time;   // in the sequence
    std::uint32_t row;    // layer and direction
    std::uint32_t index;  // row and time
  };
  using Ids = std::initializer_list<ValueId>;

  // Inputs of the node; then own tensors of a cell: weight_ih, weight_hh, the biases, weight_hr.
  static constexpr std::uint32_t data = 0, first_state = 1, first_cell = 2;
  static constexpr std::size_t input_weight = 0, state_weight = 1, first_bias = 2;

  Cell cell_at(std::uint32_t layer, std::uint32_t direction, std::uint32_t step) const;
  ValueId make(const Cell& cell, CellSlot slot, ValueKind kind, std::int64_t width);
  ValueId make_gradient(const Cell& cell, CellSlot slot) {
    return make(cell, slot, ValueKind::gradient, hidden_);
  }

  // Forward.
  void forward_cell(const Cell& cell);
  void forward_products(const Cell& cell, const std::array<ValueId, 4>& raw);
  void forward_lstm(const Cell& cell, const std::array<ValueId, 4>& raw);
  void forward_gru(const Cell& cell, const std::array<ValueId, 4>& raw);
  void forward_projection(const Cell& cell, ValueId unprojected);
  ValueId make_hidden(const Cell& cell);
  void bind_last_states();

  // Backward.
  void backward_cell(const Cell& cell);
  ValueId incoming(const Cell& cell);
  std::array<ValueId, 4> backward_lstm(const Cell& cell, ValueId hidden_gradient);
  std::array<ValueId, 4> backward_gru(const Cell& cell, ValueId hidden_gradient);
  ValueId backward_projection(const Cell& cell, ValueId hidden_gradient);
  void backward_products(const Cell& cell, const std::array<ValueId, 4>& raw_gradients);
  void read_for_input(const Cell& cell, std::uint32_t group);
  void read_for_weights(const Cell& cell);
  void write_inputs(const Cell& cell);
  void write_weights(const Cell& cell, std::uint32_t group);
  bool wants_weights(const Cell& cell) const;
  void write_data_gradient(const Cell& cell);
  void write_part(ValueId& sum, ValueId part);
  void add_parts(const Cell& cell);
  void settle_input(const Cell& cell);
  void hand_over_state(const Cell& cell, std::uint32_t input, ValueId gradient);
  bool wants_state_gradient(std::uint32_t input) const;

  // Both.
  void begin(const Cell& cell, Pass pass, LayerClass layer_class);
  void pointwise(const Cell& cell, Pass pass, std::int64_t flop_per_number, std::int64_t width,
                 Ids reads, Ids writes);
  void forward_operation(const Cell& cell, std::int64_t flop, Ids reads, Ids writes) {
    pointwise(cell, Pass::forward, flop, hidden_, reads, writes);
  }
  void backward_operation(const Cell& cell, std::int64_t flop, Ids reads, Ids writes) {
    pointwise(cell, input_pass_, flop, hidden_, reads, writes);
  }
  void read(ValueId id);
  void read(const ValueIds& ids);
  void read_data(const Cell& cell);
  ValueId hidden_of(const Cell& cell) const { return hiddens_[cell.index]; }
  ValueIds before(const Cell& cell, std::uint32_t input, const std::vector<ValueId>& states) const;
  TensorId own(const Cell& cell, std::size_t which) const;
  bool wants(TensorId tensor) const { return builder_.bound.tensors[tensor].wants_gradient; }
  bool wants_data_gradient(const Cell& cell) const;
  // The product that makes a raw value: U_n h of a GRU comes with the third gate.
  std::uint32_t group_of(std::uint32_t raw) const { return std::min(raw, groups_ - 1); }
  ValueIds gate_of(TensorId weight, std::uint32_t group, std::uint32_t groups) const;
  std::int64_t size_of(TensorId tensor) const { return builder_.bound.tensors[tensor].elements; }

  ProgramBuilder& builder_;
  const Node& node_;
  NodeId id_;
  Recurrent op_;
  std::int64_t batch_, hidden_, width_, element_bytes_;
  std::uint32_t times_, directions_, layers_, gates_, groups_;
  Pass input_pass_, weight_pass_;
  bool follows_time_;  // the input is cut into this node's time steps
  bool is_recomputed_ = false;
  std::uint32_t cells_left_;        // of forward
  std::uint32_t first_layer_left_;  // cells of it, of backward

  std::vector<ValueId> hiddens_, cells_, unprojected_;  // by cell and time
  std::vector<std::array<ValueId, 4>> gate_values_;
  std::vector<ValueId> above_;                      // gradients of hiddens_ from the layer above
  std::vector<ValueId> carry_hidden_, carry_cell_;  // by row: gradients from the next time step
  ValueId next_carry_ = ~ValueId{0};                // what becomes carry_hidden_ after this cell
  std::unordered_map<ValueId, ValueId> data_gradients_;  // of the input, not complete yet
  struct GradientPart {
    ValueId* sum;  // no_value: this is the first part
    ValueId part;
  };
  std::vector<GradientPart> parts_;  // that the open step writes
};

/// The recurrent nodes of a network, each with what it carries from forward to backward.
class RecurrentRuns {
 public:
  explicit RecurrentRuns(ProgramBuilder& builder) : builder_(builder) {}

  bool takes(NodeId node) const;
  void forward(const Instance& instance, bool is_recomputed);
  void backward(const Instance& instance);

 private:
  ProgramBuilder& builder_;
  std::unordered_map<NodeId, std::unique_ptr<RecurrentRun>> runs_;
};

}  // namespace strata
