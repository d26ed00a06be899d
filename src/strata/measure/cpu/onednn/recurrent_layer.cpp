// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/recurrent_layer.hpp"

#include <algorithm>
#include <cstring>

namespace strata::cpu_training::onednn {
namespace {

constexpr auto element = static_cast<std::int64_t>(sizeof(float));

/// The layouts that oneDNN may choose.
struct FreeLayouts {
  Layout src_layer, weights_layer, weights_iter, bias, dst_layer;

  explicit FreeLayouts(const RecurrentLayer& l)
      : src_layer(any_layout(l.src_layer.dims())),
        weights_layer(any_layout(l.weights_layer.dims())),
        weights_iter(any_layout(l.weights_iter.dims())),
        bias(any_layout(l.bias.dims())),
        dst_layer(any_layout(l.dst_layer.dims())) {}
};

dnnl::rnn_direction direction_of(const RecurrentSizes& sizes) {
  return sizes.op.bidirectional ? dnnl::rnn_direction::bidirectional_concat
                                : dnnl::rnn_direction::unidirectional_left2right;
}

dnnl::prop_kind kind_of(const RecurrentSizes& sizes) {
  return sizes.keeps ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

void describe_lstm(RecurrentLayer& l) {
  const FreeLayouts f(l);
  const dnnl::lstm_forward::primitive_desc forward(
      {kind_of(l.sizes), direction_of(l.sizes), f.src_layer, l.states, l.states, f.weights_layer,
       f.weights_iter, f.bias, f.dst_layer, l.states, l.states},
      attributes(), cpu_engine());
  l.forward = forward;
  if (!l.sizes.keeps) return;
  l.backward = dnnl::lstm_backward::primitive_desc({dnnl::prop_kind::backward,
                                                    direction_of(l.sizes),
                                                    f.src_layer,
                                                    l.states,
                                                    l.states,
                                                    f.weights_layer,
                                                    f.weights_iter,
                                                    f.bias,
                                                    f.dst_layer,
                                                    l.states,
                                                    l.states,
                                                    f.src_layer,
                                                    l.states,
                                                    l.states,
                                                    l.weights_layer,
                                                    l.weights_iter,
                                                    l.bias,
                                                    f.dst_layer,
                                                    l.states,
                                                    l.states},
                                                   attributes(), cpu_engine(), forward);
}

void describe_gru(RecurrentLayer& l) {
  const FreeLayouts f(l);
  const dnnl::lbr_gru_forward::primitive_desc forward(
      {kind_of(l.sizes), direction_of(l.sizes), f.src_layer, l.states, f.weights_layer,
       f.weights_iter, f.bias, f.dst_layer, l.states},
      attributes(), cpu_engine());
  l.forward = forward;
  if (!l.sizes.keeps) return;
  l.backward = dnnl::lbr_gru_backward::primitive_desc(
      {dnnl::prop_kind::backward, direction_of(l.sizes), f.src_layer, l.states, f.weights_layer,
       f.weights_iter, f.bias, f.dst_layer, l.states, f.src_layer, l.states, l.weights_layer,
       l.weights_iter, l.bias, f.dst_layer, l.states},
      attributes(), cpu_engine(), forward);
}

void describe_rnn(RecurrentLayer& l) {
  const FreeLayouts f(l);
  const dnnl::algorithm activation = l.sizes.op.cell == CellKind::rnn_relu
                                         ? dnnl::algorithm::eltwise_relu
                                         : dnnl::algorithm::eltwise_tanh;
  const dnnl::vanilla_rnn_forward::primitive_desc forward(
      {kind_of(l.sizes), activation, direction_of(l.sizes), f.src_layer, l.states, f.weights_layer,
       f.weights_iter, f.bias, f.dst_layer, l.states},
      attributes(), cpu_engine());
  l.forward = forward;
  if (!l.sizes.keeps) return;
  l.backward = dnnl::vanilla_rnn_backward::primitive_desc(
      {dnnl::prop_kind::backward, activation, direction_of(l.sizes), f.src_layer, l.states,
       f.weights_layer, f.weights_iter, f.bias, f.dst_layer, l.states, f.src_layer, l.states,
       l.weights_layer, l.weights_iter, l.bias, f.dst_layer, l.states},
      attributes(), cpu_engine(), forward);
}

}  // namespace

RecurrentSizes::RecurrentSizes(const Recurrent& recurrent, const NodeContext& context)
    : op(recurrent),
      batch(context.input()[0]),
      steps(context.input()[1]),
      features(context.input()[2]),
      first_own(context.first_own()),
      has_h0(first_own > 1),
      has_c0(first_own > 2),
      keeps(context.wants_any()) {}

Layout RecurrentSizes::batch_first(std::int64_t width) const {
  return strided({steps, batch, width}, {width, steps * width, 1});
}

RecurrentLayer::RecurrentLayer(const RecurrentSizes& all, std::int64_t layer)
    : sizes(all), index(layer) {
  const std::int64_t d = sizes.directions(), h = sizes.op.hidden, g = sizes.gates();
  src_layer = dense({sizes.steps, sizes.batch, inputs()});
  dst_layer = dense({sizes.steps, sizes.batch, sizes.layer_width()});
  states = dense({1, d, sizes.batch, h});
  weights_layer = dense({1, d, inputs(), g, h});
  weights_iter = dense({1, d, h, g, h});
  // A GRU's new gate has a bias for the input and one for the state.
  bias = dense({1, d, sizes.is_gru() ? 4 : g, h});
  switch (sizes.op.cell) {
    case CellKind::lstm: describe_lstm(*this); break;
    case CellKind::gru: describe_gru(*this); break;
    case CellKind::rnn_tanh:
    case CellKind::rnn_relu: describe_rnn(*this); break;
  }
}

std::size_t RecurrentLayer::own(std::int64_t direction, std::int64_t which) const {
  const std::int64_t cell = index * sizes.directions() + direction;
  return sizes.first_own + static_cast<std::size_t>(cell * (2 + sizes.op.biases) + which);
}

// oneDNN's gates of a GRU are update, reset, new; PyTorch's are reset, update, new.
std::int64_t RecurrentLayer::gate_of(std::int64_t of_onednn) const {
  return sizes.is_gru() && of_onednn < 2 ? 1 - of_onednn : of_onednn;
}

Tensor RecurrentLayer::packed_gate(const Tensor& packed, std::int64_t direction,
                                   std::int64_t gate) const {
  const Dims dims = packed.layout.dims();  // [1, directions, columns, gates, hidden]
  const std::int64_t columns = dims[2], gates = dims[3], h = dims[4];
  Place place = packed.place;
  place.offset_bytes += (direction * columns * gates + gate) * h * element;
  return {place, strided({columns, h}, {gates * h, 1})};
}

Tensor RecurrentLayer::stored_gate(const Place& place, std::int64_t columns,
                                   std::int64_t gate) const {
  Place of_gate = place;
  of_gate.offset_bytes += gate_of(gate) * sizes.op.hidden * columns * element;
  return {of_gate, strided({columns, sizes.op.hidden}, {1, columns})};
}

Tensor RecurrentLayer::pack_weights(Computation& to, const Layout& packed,
                                    std::int64_t which) const {
  const Tensor weights = to.scratch(packed);
  for (std::int64_t d = 0; d < sizes.directions(); ++d) {
    for (std::int64_t gate = 0; gate < sizes.gates(); ++gate) {
      to.add_reorder(stored_gate(input(own(d, which)), packed.dims()[2], gate),
                     packed_gate(weights, d, gate), false);
    }
  }
  return weights;
}

/// oneDNN has one bias per gate, the node up to two, which are added.
void RecurrentLayer::sum_biases(const NodeMemory& m, float* to) const {
  const std::int64_t h = sizes.op.hidden, of_direction = bias.dims()[2] * h;
  std::fill_n(to, sizes.directions() * of_direction, 0.0F);
  for (std::int64_t d = 0; d < sizes.directions(); ++d, to += of_direction) {
    for (std::int64_t which = 0; which < sizes.op.biases; ++which) {
      const auto* const from = static_cast<const float*>(m.inputs[own(d, 2 + which)]);
      for (std::int64_t gate = 0; gate < sizes.gates(); ++gate) {
        const bool is_of_state = sizes.is_gru() && gate == 2 && which == 1;
        for (std::int64_t u = 0; u < h; ++u) {
          to[(is_of_state ? 3 : gate) * h + u] += from[gate_of(gate) * h + u];
        }
      }
    }
  }
}

void RecurrentLayer::spread_bias_gradients(const NodeMemory& m, const float* from) const {
  const std::int64_t h = sizes.op.hidden, of_direction = bias.dims()[2] * h;
  for (std::int64_t d = 0; d < sizes.directions(); ++d, from += of_direction) {
    for (std::int64_t which = 0; which < sizes.op.biases; ++which) {
      auto* const to = static_cast<float*>(m.input_gradients[own(d, 2 + which)]);
      for (std::int64_t gate = 0; gate < sizes.gates(); ++gate) {
        const bool is_of_state = sizes.is_gru() && gate == 2 && which == 1;
        std::copy_n(from + (is_of_state ? 3 : gate) * h, h, to + gate_of(gate) * h);
      }
    }
  }
}

std::vector<Argument> RecurrentLayer::reads(Computation& to, const Tensor& source) const {
  const Tensor biases = to.scratch(bias);
  to.add_step([*this, biases](const NodeMemory& m) {
    sum_biases(m, static_cast<float*>(biases.place.in(m)));
  });
  std::vector<Argument> all = {{DNNL_ARG_SRC_LAYER, source},
                               {DNNL_ARG_WEIGHTS_LAYER, pack_weights(to, weights_layer, 0)},
                               {DNNL_ARG_WEIGHTS_ITER, pack_weights(to, weights_iter, 1)},
                               {DNNL_ARG_BIAS, biases}};
  all.push_back({DNNL_ARG_SRC_ITER, first_states(to, sizes.has_h0, 1)});
  if (sizes.is_lstm()) all.push_back({DNNL_ARG_SRC_ITER_C, first_states(to, sizes.has_c0, 2)});
  return all;
}

// oneDNN may do without, but version 2.6 then computes wrong gradients of the weights.
Tensor RecurrentLayer::first_states(Computation& to, bool is_given, std::size_t i) const {
  if (is_given) return {{Place::Of::input, i, state_offset()}, states};
  const Tensor zero = to.scratch(states);
  to.add_step(
      [zero](const NodeMemory& m) { std::memset(zero.place.in(m), 0, zero.layout.get_size()); });
  return zero;
}

void RecurrentLayer::add_weight_gradients(Computation& to, const Tensor& of_layer,
                                          const Tensor& of_iter, const Tensor& of_bias) const {
  for (std::int64_t d = 0; d < sizes.directions(); ++d) {
    for (std::int64_t gate = 0; gate < sizes.gates(); ++gate) {
      for (const auto& [packed, which] : {std::pair{of_layer, 0}, std::pair{of_iter, 1}}) {
        to.add_reorder(packed_gate(packed, d, gate),
                       stored_gate(input_gradient(own(d, which)), packed.layout.dims()[2], gate),
                       false);
      }
    }
  }
  to.add_step([*this, of_bias](const NodeMemory& m) {
    spread_bias_gradients(m, static_cast<const float*>(of_bias.place.in(m)));
  });
}

}  // namespace strata::cpu_training::onednn
