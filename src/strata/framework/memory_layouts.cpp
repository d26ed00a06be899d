// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/memory_layouts.hpp"

#include <algorithm>

namespace strata {
namespace {

/// The axes of a tensor from the outermost in memory to the innermost. Empty: as they stand.
using Order = std::vector<std::size_t>;

bool is_plain(const Order& order) { return std::is_sorted(order.begin(), order.end()); }

bool is_images_with_channels_last(const Order& order) { return order == Order{0, 2, 3, 1}; }

/// Reads any layout and writes what it reads.
bool keeps_layout(const Operator& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Elementwise>(op) ||
         std::holds_alternative<Dropout>(op) || std::holds_alternative<Cast>(op);
}

/// Has kernels for images with channels last.
bool takes_channels_last(const Operator& op) {
  return std::holds_alternative<Convolution>(op) || std::holds_alternative<BatchNorm>(op) ||
         std::holds_alternative<Pool>(op) || std::holds_alternative<AdaptivePool>(op);
}

Order transposed_order(const Transpose& op, const Order& before, std::size_t axes) {
  // Axis i of the result is axis op.permutation[i] of the input.
  Order result(axes);
  for (std::size_t place = 0; place < axes; ++place) {
    const std::size_t axis = before.empty() ? place : before[place];
    const auto found =
        std::find(op.permutation.begin(), op.permutation.end(), static_cast<std::int64_t>(axis));
    if (found == op.permutation.end()) return {};
    result[place] = static_cast<std::size_t>(found - op.permutation.begin());
  }
  return is_plain(result) ? Order{} : result;
}

Order order_of_output(const BoundGraph& bound, const Node& node, const std::vector<Order>& orders) {
  if (node.inputs.empty()) return {};
  const Order& before = orders[node.inputs[0]];
  const std::size_t axes = bound.tensors[node.inputs[0]].axes();
  if (const auto* transpose = std::get_if<Transpose>(&node.op))
    return transpose->permutation.size() == axes ? transposed_order(*transpose, before, axes)
                                                 : Order{};
  if (takes_channels_last(node.op)) return is_images_with_channels_last(before) ? before : Order{};
  if (!keeps_layout(node.op)) return {};
  // Of several inputs the first of full size decides.
  const BoundTensor& output = bound.tensors[node.outputs[0]];
  for (std::uint32_t i = 0; i < node.first_own; ++i) {
    const BoundTensor& input = bound.tensors[node.inputs[i]];
    if (input.elements == output.elements && input.axes() == output.axes())
      return orders[node.inputs[i]];
  }
  return {};
}

}  // namespace

MemoryLayouts memory_layouts(const BoundGraph& bound, const Framework& framework) {
  MemoryLayouts layouts;
  layouts.is_strided.resize(bound.tensors.size());
  layouts.moves_last_axis.resize(bound.tensors.size());
  layouts.is_channels_last.resize(bound.tensors.size());
  const OperatorRule* transpose = framework.find("transpose");
  if (transpose == nullptr || !transpose->forward.empty()) return layouts;
  std::vector<Order> orders(bound.tensors.size());
  for (const Node& node : bound.graph->nodes) {
    if (node.outputs.empty()) continue;
    const TensorId output = node.outputs[0];
    orders[output] = order_of_output(bound, node, orders);
    layouts.is_strided[output] = !orders[output].empty();
    layouts.moves_last_axis[output] =
        !orders[output].empty() && orders[output].back() + 1 != orders[output].size();
    layouts.is_channels_last[output] = is_images_with_channels_last(orders[output]);
  }
  return layouts;
}

bool copies_input(const MemoryLayouts& layouts, const Node& node, std::size_t input) {
  const TensorId tensor = node.inputs[input];
  if (!layouts.is_strided[tensor] || keeps_layout(node.op)) return false;
  if (std::holds_alternative<Transpose>(node.op) || std::holds_alternative<Reduce>(node.op))
    return false;
  return !(takes_channels_last(node.op) && layouts.is_channels_last[tensor]);
}

}  // namespace strata
