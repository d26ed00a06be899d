// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/number_types.hpp"

#include <fmt/format.h>

#include <variant>
#include <vector>

namespace strata {
namespace {

template <class... Op>
bool is_one_of(const Operator& op) {
  return (std::holds_alternative<Op>(op) || ...);
}

/// Whether an input says where something is, in numbers of any type.
bool is_place(const Operator& op, std::size_t input) {
  if (is_one_of<Embedding>(op)) return input == 0;
  return is_one_of<Gather, SoftmaxCrossEntropy>(op) && input == 1;
}

/// Kernels of these look at the type of each tensor themselves.
bool takes_any_type(const Operator& op) { return is_one_of<Unary, Elementwise, Cast, Opaque>(op); }

bool moves_numbers(const Operator& op) {
  return is_one_of<Concat, Split, Slice, Reshape, Flatten, Transpose, Expand, Pad, Embedding,
                   Gather, ChannelShuffle, SpaceToDepth>(op);
}

}  // namespace

std::optional<std::string> type_refusal(const BoundGraph& bound, NodeId id) {
  const Node& node = bound.graph->nodes[id];
  if (takes_any_type(node.op)) return std::nullopt;
  std::vector<TensorId> tensors = node.outputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_place(node.op, i)) tensors.push_back(node.inputs[i]);
  }
  const bool is_moved = moves_numbers(node.op);
  for (const TensorId tensor : tensors) {
    const DType first = bound.tensors[tensors[0]].dtype, dtype = bound.tensors[tensor].dtype;
    if (!is_moved && !is_floating(dtype)) return fmt::format("no kernels for {}", name_of(dtype));
    if (is_moved && dtype != first) {
      return fmt::format("it moves {} into {}", name_of(dtype), name_of(first));
    }
  }
  return std::nullopt;
}

}  // namespace strata
