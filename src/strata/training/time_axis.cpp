// SPDX-License-Identifier: Apache-2.0
#include "strata/training/time_axis.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr int nowhere = -1;

// Overloads say which axis of an input becomes axis 1 of the output, time step by time step.
struct Follows {
  const BoundGraph& bound;
  const Node& node;
  std::size_t input;

  const BoundTensor& in() const { return bound.tensors[node.inputs[input]]; }
  const BoundTensor& out() const { return bound.tensors[node.outputs[0]]; }
  int first(bool holds = true) const { return input == 0 && holds ? 1 : nowhere; }
  bool is_behind_time(std::int64_t axis) const { return normal_axis(axis, in().axes()) > 1; }
  bool is_time(std::int64_t axis) const { return normal_axis(axis, in().axes()) == 1; }

  int operator()(const Unary&) const { return first(); }
  int operator()(const Dropout&) const { return first(); }
  int operator()(const Cast&) const { return first(); }
  int operator()(const Recurrent& op) const { return first(!op.bidirectional); }
  int operator()(const Softmax& op) const { return first(input == 0 && !is_time(op.axis)); }
  int operator()(const LayerNorm& op) const { return first(input == 0 && is_behind_time(op.axis)); }
  int operator()(const RmsNorm& op) const { return first(input == 0 && is_behind_time(op.axis)); }
  int operator()(const Linear&) const { return first(in().axes() >= 3); }
  int operator()(const Split& op) const { return first(!is_time(op.axis)); }
  int operator()(const Concat& op) const { return is_time(op.axis) ? nowhere : 1; }

  // Broadcasting aligns the last axes.
  int operator()(const Elementwise&) const {
    const int axis = 1 - static_cast<int>(out().axes()) + static_cast<int>(in().axes());
    return axis < 0 ? nowhere : axis;
  }

  // [N, T, K] × [N, K, M] goes row by row through A and needs all of B; with more axes, time is one
  // of those that both go along.
  int operator()(const MatMul& op) const {
    if (out().axes() == 3) return first(in().axes() == 3 && !op.transpose_a);
    const bool leads = out().axes() > 3 && in().axes() == out().axes();
    return leads ? 1 : nowhere;
  }

  template <class Op>
  int operator()(const Op&) const {
    return nowhere;
  }
};

}  // namespace

bool input_follows_time(const BoundGraph& bound, const std::vector<std::int8_t>& time_axis,
                        const Node& node, std::size_t input) {
  const TensorId tensor = node.inputs[input];
  const BoundTensor& in = bound.tensors[tensor];
  const BoundTensor& out = bound.tensors[node.outputs[0]];
  if (time_axis[tensor] < 0 || out.axes() < 2) return false;
  const int axis = std::visit(Follows{bound, node, input}, node.op);
  return axis == time_axis[tensor] && static_cast<std::size_t>(axis) < in.axes() &&
         in[static_cast<std::size_t>(axis)] == out[1];
}

std::int8_t axis_after_reshape(const BoundGraph& bound, const std::vector<std::int8_t>& time_axis,
                               const Node& node) {
  const int from = time_axis[node.inputs[0]];
  if (from < 0) return nowhere;
  const BoundTensor& in = bound.tensors[node.inputs[0]];
  const BoundTensor& out = bound.tensors[node.outputs[0]];
  std::int64_t before = 1;
  for (int i = 0; i < from; ++i) before *= in[static_cast<std::size_t>(i)];
  for (std::size_t axis = 0; axis < out.axes(); ++axis) {
    if (before == 1 && out[axis] == in[static_cast<std::size_t>(from)])
      return static_cast<std::int8_t>(axis);
    if (before % out[axis] != 0) return nowhere;
    before /= out[axis];
  }
  return nowhere;
}

std::uint32_t gates_of(CellKind cell) {
  switch (cell) {
    case CellKind::lstm: return 4;
    case CellKind::gru: return 3;
    default: return 1;
  }
}

}  // namespace strata
