// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <algorithm>

namespace strata::keras {
namespace {

// Images are stored with their channels first as soon as one of them is; sequences as Keras has
// them unless all are stored otherwise.
std::size_t layout_for(const LayerCall& call, const Values& values, std::size_t rank) {
  std::size_t most = 0;
  std::size_t least = most_axes;
  for (const Value value : values) {
    if (call.rank(value) != rank) continue;
    most = std::max(most, value.channels_at);
    least = std::min(least, value.channels_at);
  }
  return rank > 3 ? most : least;
}

// Keras puts the missing axes after the batch: (N, C) meets (N, H, W, C) as (N, 1, 1, C).
Value with_rank(LayerCall& call, Value x, std::size_t rank, std::size_t channels_at) {
  if (call.rank(x) == rank) return call.with_channels_at(x, channels_at);
  const Shape extents = call.shape(x);
  Shape wide = {extents[0]};
  for (std::size_t axis = extents.size(); axis < rank; ++axis) wide.push_back(1);
  for (std::size_t axis = 1; axis < extents.size(); ++axis) wide.push_back(extents[axis]);
  if (extents.size() <= 2) {
    const Shape stored = stored_shape(wide, channels_at);
    return {call.add(Reshape{stored}, {x.id}, "expand"), channels_at};
  }
  const Value expanded{call.add(Reshape{wide}, {call.plain(x).id}, "expand"), 0};
  return call.with_channels_at(expanded, channels_at);
}

Values combined(LayerCall& call, ElementwiseKind kind) {
  if (call.inputs.empty()) fail(ErrorKind::input, "expected inputs, got none");
  const Values values = aligned(call, call.inputs);
  std::vector<TensorId> operands;
  operands.reserve(values.size());
  for (const Value value : values) operands.push_back(value.id);
  return {{call.add(Elementwise{kind}, operands), values.front().channels_at}};
}

Value unit_length(LayerCall& call, Value x, std::int64_t axis, std::string_view suffix) {
  const std::string name(suffix);
  const Reduce op{.kind = ReduceKind::l2, .axes = {axis}, .keep_axes = true};
  const TensorId length = call.add(op, {x.id}, name + "_length");
  return {call.add(Elementwise{ElementwiseKind::divide}, {x.id, length}, name), 0};
}

// Sums over one axis of each, sample by sample.
Values product_of(LayerCall& call, std::vector<std::int64_t> axes, bool is_normalized) {
  if (call.inputs.size() != 2) {
    fail(ErrorKind::input, "expected 2 inputs, got {}", call.inputs.size());
  }
  Value a = call.plain(call.inputs[0]);
  Value b = call.plain(call.inputs[1]);
  if (axes.empty()) axes = {-1};
  if (axes.size() == 1) axes.push_back(axes.front());
  if (axes.size() != 2) fail(ErrorKind::input, "expected 2 axes, got {}", axes.size());
  const std::size_t a_axis = call.axis_of(a, axes[0]);
  const std::size_t b_axis = call.axis_of(b, axes[1]);
  if (is_normalized) {
    a = unit_length(call, a, static_cast<std::int64_t>(a_axis), "left");
    b = unit_length(call, b, static_cast<std::int64_t>(b_axis), "right");
  }
  const Shape a_shape = call.shape(a);
  const Shape b_shape = call.shape(b);
  if (a_shape.size() > 3 || b_shape.size() > 3 || a_axis == 0 || b_axis == 0) {
    fail(ErrorKind::unsupported, "a dot product of {} and {} over axes {} and {}",
         call.net.text(a_shape), call.net.text(b_shape), axes[0], axes[1]);
  }
  if (a_shape.size() == 2) a.id = call.add(Reshape{{0, 1, a_shape[1]}}, {a.id}, "left_row");
  if (b_shape.size() == 2) b.id = call.add(Reshape{{0, 1, b_shape[1]}}, {b.id}, "right_row");
  const MatMul op{.transpose_a = a_shape.size() == 3 && a_axis == 1,
                  .transpose_b = b_shape.size() == 2 || b_axis == 2};
  const TensorId product = call.add(op, {a.id, b.id});
  if (a_shape.size() == 3 && b_shape.size() == 3) return {{product, 0}};
  Shape rest = {a_shape[0]};
  if (a_shape.size() == 3) rest.push_back(a_shape[3 - a_axis]);
  if (b_shape.size() == 3) rest.push_back(b_shape[3 - b_axis]);
  if (rest.size() == 1) rest.push_back(1);
  return {{call.add(Reshape{rest}, {product}, "rows"), 0}};
}

}  // namespace

Values aligned(LayerCall& call, const Values& values) {
  std::size_t rank = 0;
  for (const Value value : values) rank = std::max(rank, call.rank(value));
  const std::size_t channels_at = layout_for(call, values, rank);
  Values result;
  result.reserve(values.size());
  for (const Value value : values) result.push_back(with_rank(call, value, rank, channels_at));
  return result;
}

Value joined(LayerCall& call, const Values& values, std::int64_t axis) {
  if (values.empty()) fail(ErrorKind::input, "expected inputs, got none");
  const std::size_t rank = call.rank(values.front());
  const std::size_t channels_at = layout_for(call, values, rank);
  std::vector<TensorId> operands;
  operands.reserve(values.size());
  for (const Value value : values) {
    if (call.rank(value) != rank) {
      fail(ErrorKind::input, "expected inputs of {} axes, got {}", rank,
           call.net.text(call.shape(value)));
    }
    operands.push_back(call.with_channels_at(value, channels_at).id);
  }
  const Value first{operands.front(), rank < 3 ? 0 : channels_at};
  return {call.add(Concat{.axis = call.stored_axis_of(first, axis)}, operands), first.channels_at};
}

Values make_add(LayerCall& call) { return combined(call, ElementwiseKind::add); }
Values make_subtract(LayerCall& call) { return combined(call, ElementwiseKind::subtract); }
Values make_multiply(LayerCall& call) { return combined(call, ElementwiseKind::multiply); }
Values make_average(LayerCall& call) { return combined(call, ElementwiseKind::mean); }
Values make_maximum(LayerCall& call) { return combined(call, ElementwiseKind::maximum); }
Values make_minimum(LayerCall& call) { return combined(call, ElementwiseKind::minimum); }

Values make_concatenate(LayerCall& call) {
  return {joined(call, call.inputs, call.config.whole({"axis"}, -1))};
}

Values make_dot(LayerCall& call) {
  return product_of(call, call.config.numbers({"axes"}), call.config.truth({"normalize"}, false));
}

// Keras 1 had one layer for all of them.
Values make_merge(LayerCall& call) {
  const Json* mode = call.config.find({"mode"});
  const bool is_code = call.config.word({"mode_type"}, "raw") != "raw";
  if (mode == nullptr || !mode->is_string() || is_code) return make_opaque(call);
  if (*mode == "sum") return make_add(call);
  if (*mode == "mul") return make_multiply(call);
  if (*mode == "ave") return make_average(call);
  if (*mode == "max") return make_maximum(call);
  if (*mode == "min") return make_minimum(call);
  if (*mode == "concat") {
    return {joined(call, call.inputs, call.config.whole({"concat_axis"}, -1))};
  }
  if (*mode == "dot" || *mode == "cos") {
    return product_of(call, call.config.numbers({"dot_axes"}), *mode == "cos");
  }
  fail(ErrorKind::input, "expected sum, mul, ave, max, min, concat, dot or cos for 'mode', got {}",
       network::in_quotes(mode->get_ref<const std::string&>()));
}

}  // namespace strata::keras
