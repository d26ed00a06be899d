// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/onednn/computation.hpp"

#include <optional>

namespace strata::cpu_training::onednn {

struct RecurrentSizes {
  Recurrent op;
  std::int64_t batch, steps, features;
  std::size_t first_own;
  bool has_h0, has_c0;
  bool keeps;  ///< forward leaves its work for backward

  RecurrentSizes(const Recurrent& recurrent, const NodeContext& context);

  bool is_lstm() const { return op.cell == CellKind::lstm; }
  bool is_gru() const { return op.cell == CellKind::gru; }
  std::int64_t directions() const { return op.bidirectional ? 2 : 1; }
  std::int64_t gates() const { return is_lstm() ? 4 : is_gru() ? 3 : 1; }
  std::int64_t layer_width() const { return directions() * op.hidden; }
  /// [T, N, width] of a tensor that is stored as [N, T, width].
  Layout batch_first(std::int64_t width) const;
};

/// One layer of the stack as a primitive of oneDNN. Its weights are packed as [directions, inputs,
/// gates, hidden]; the node has a tensor [gates · hidden, inputs] per direction, whose gates a GRU
/// has in another order.
struct RecurrentLayer {
  RecurrentSizes sizes;
  std::int64_t index;
  Layout src_layer, dst_layer, states, weights_layer, weights_iter, bias;
  dnnl::primitive_desc forward;
  std::optional<dnnl::primitive_desc> backward;

  RecurrentLayer(const RecurrentSizes& all, std::int64_t layer);

  /// Of this layer's part in a tensor with the states of all layers.
  std::int64_t state_offset() const { return index * static_cast<std::int64_t>(states.get_size()); }

  /// What both passes read; packs the weights.
  std::vector<Argument> reads(Computation& to, const Tensor& source) const;
  void add_weight_gradients(Computation& to, const Tensor& of_layer, const Tensor& of_iter,
                            const Tensor& of_bias) const;

 private:
  std::int64_t inputs() const { return index == 0 ? sizes.features : sizes.layer_width(); }
  /// The node's input with tensor `which` of a direction: weight_ih, weight_hh, bias_ih, bias_hh.
  std::size_t own(std::int64_t direction, std::int64_t which) const;
  std::int64_t gate_of(std::int64_t of_onednn) const;

  /// One gate of one direction, in the packed tensor and in the node's.
  Tensor packed_gate(const Tensor& packed, std::int64_t direction, std::int64_t gate) const;
  Tensor stored_gate(const Place& place, std::int64_t columns, std::int64_t gate) const;
  /// The states before the first time: an input of the node, or zero.
  Tensor first_states(Computation& to, bool is_given, std::size_t i) const;
  Tensor pack_weights(Computation& to, const Layout& packed, std::int64_t which) const;
  void sum_biases(const NodeMemory& m, float* to) const;
  void spread_bias_gradients(const NodeMemory& m, const float* from) const;
};

}  // namespace strata::cpu_training::onednn
