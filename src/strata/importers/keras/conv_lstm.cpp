// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/keras/window.hpp"

namespace strata::keras {
namespace {

/// The gates of all steps at once. The state of the step before has the shape
/// of a quarter of the input's convolution, which stands in for it.
struct Gates {
  LayerCall& call;

  TensorId apply(UnaryKind kind, TensorId x, std::string_view suffix) const {
    return call.add(Unary{kind}, {x}, suffix);
  }
  TensorId combine(ElementwiseKind kind, TensorId a, TensorId b, std::string_view suffix) const {
    return call.add(Elementwise{kind}, {a, b}, suffix);
  }

  TensorId state_in(TensorId from_input) const {
    const NodeId quarters =
        call.add_node(Split{.axis = 1, .parts = 4}, {{from_input}}, "state_before");
    return call.net.builder().output_of(quarters, 0);
  }

  TensorId output(TensorId sum, TensorId state) const {
    const NodeId quarters = call.add_node(Split{.axis = 1, .parts = 4}, {{sum}}, "gates");
    const auto gate = [&](std::size_t index) {
      return call.net.builder().output_of(quarters, index);
    };
    const TensorId let_in = apply(UnaryKind::sigmoid, gate(0), "input_gate");
    const TensorId keep = apply(UnaryKind::sigmoid, gate(1), "forget_gate");
    const TensorId fresh = apply(UnaryKind::tanh, gate(2), "candidate");
    const TensorId let_out = apply(UnaryKind::sigmoid, gate(3), "output_gate");
    const TensorId kept = combine(ElementwiseKind::multiply, keep, state, "kept");
    const TensorId added = combine(ElementwiseKind::multiply, let_in, fresh, "added");
    const TensorId cell = combine(ElementwiseKind::add, kept, added, "cell");
    const TensorId squashed = apply(UnaryKind::tanh, cell, "squashed");
    return combine(ElementwiseKind::multiply, let_out, squashed, {});
  }
};

Convolution input_convolution(LayerCall& call, Value x, std::size_t axes) {
  const Config& config = call.config;
  Convolution op{.channels = checked_mul(4, config.whole({"filters", "nb_filter"}))};
  op.kernel = config.extents({"kernel_size"}, axes);
  op.stride = config.extents({"strides"}, axes, 1);
  op.dilation = config.extents({"dilation_rate"}, axes, 1);
  op.bias = config.truth({"use_bias"}, true);
  const Padding padding = padding_of(call, x, {op.kernel, op.stride, op.dilation});
  op.pad_begin = padding.begin;
  op.pad_end = padding.end;
  return op;
}

// Over the state, which keeps its size: stride 1, padded to the same.
Convolution state_convolution(const Convolution& input) {
  Convolution op{.channels = input.channels, .kernel = input.kernel, .bias = false};
  for (const std::int64_t extent : input.kernel) {
    op.pad_begin.push_back((extent - 1) / 2);
    op.pad_end.push_back(extent - 1 - (extent - 1) / 2);
  }
  return op;
}

Values make_conv_lstm(LayerCall& call, std::size_t axes) {
  if (call.config.truth({"return_state"}, false) || call.inputs.size() > 1) {
    fail(ErrorKind::unsupported, "states of a convolutional LSTM as inputs or outputs");
  }
  const Value film = call.with_channels_at(call.input(), call.is_channels_first() ? 0 : 2);
  if (call.rank(film) != axes + 3) {
    fail(ErrorKind::input, "expected an input of {} axes, got {}", axes + 3,
         call.net.text(call.shape(film)));
  }
  call.note(WarningCode::value_assumed,
            "the steps of a convolutional LSTM are taken to run at once");
  const Shape stored = call.net.stored(film);
  const std::span<const Dim> extents = stored;
  Shape folded = {call.net.symbols().multiply(stored[0], stored[1])};
  for (const Dim extent : extents.subspan(2)) folded.push_back(extent);
  const Value frames{call.add(Reshape{folded}, {film.id}, "fold"), 1};

  const Gates gates{call};
  const Convolution convolution = input_convolution(call, frames, axes);
  const TensorId from_input = call.add(convolution, {frames.id}, "input");
  const TensorId state = gates.state_in(from_input);
  const TensorId from_state = call.add(state_convolution(convolution), {state}, "state");
  const TensorId sum = gates.combine(ElementwiseKind::add, from_input, from_state, "sum");
  const TensorId made = gates.output(sum, state);

  const Shape frame = call.net.stored({made, 1});
  const std::span<const Dim> rest = frame;
  Shape unfolded = {stored[0], stored[1]};
  for (const Dim extent : rest.subspan(1)) unfolded.push_back(extent);
  const TensorId sequence = call.add(Reshape{unfolded}, {made}, "unfold");
  const std::size_t film_layout = call.is_channels_first() ? 0 : 2;
  if (call.config.truth({"return_sequences"}, false)) return {{sequence, film_layout}};
  const Slice last{.axes = {1}, .begin = {-1}, .end = {INT64_MAX}};
  const TensorId cut = call.add(last, {sequence}, "last");
  Shape image = {stored[0]};
  for (const Dim extent : rest.subspan(1)) image.push_back(extent);
  return {{call.add(Reshape{image}, {cut}, "image"), film_layout == 2 ? std::size_t{1} : 0}};
}

}  // namespace

Values make_conv_lstm1d(LayerCall& call) { return make_conv_lstm(call, 1); }
Values make_conv_lstm2d(LayerCall& call) { return make_conv_lstm(call, 2); }
Values make_conv_lstm3d(LayerCall& call) { return make_conv_lstm(call, 3); }

}  // namespace strata::keras
