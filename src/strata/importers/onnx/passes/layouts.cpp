// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"

#include <algorithm>
#include <optional>

// Strata's layouts are [N, C, space] and [N, T, features]; how a file wants its inputs laid out is
// a convention, not work.
namespace strata::onnx {
namespace {

// [T, N, F] → [N, T, F], or channels last → channels first.
bool is_to_canonical(const Axes& order) {
  const std::size_t rank = order.size();
  if (rank == 3 && order[0] == 1 && order[1] == 0) return true;
  if (rank < 3 || order[0] != 0 || order[1] != static_cast<std::int64_t>(rank) - 1) return false;
  for (std::size_t axis = 2; axis < rank; ++axis) {
    if (order[axis] != static_cast<std::int64_t>(axis) - 1) return false;
  }
  return true;
}

bool is_from_canonical(const Axes& order) {
  Axes inverse(order.size(), 0);
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    inverse[static_cast<std::size_t>(order[axis])] = static_cast<std::int64_t>(axis);
  }
  return is_to_canonical(inverse);
}

// The one order in which everybody reads the input, if there is one. A transpose that the network
// hands out is its work, not a convention.
std::optional<Axes> common_order(const Draft& draft, const std::vector<bool>& is_output,
                                 DraftId input) {
  std::optional<Axes> order;
  for (const DraftNode& node : draft.nodes) {
    if (std::find(node.inputs.begin(), node.inputs.end(), input) == node.inputs.end()) continue;
    const auto* transpose = std::get_if<Transpose>(node.op.get());
    if (transpose == nullptr || (order && *order != transpose->permutation)) return std::nullopt;
    if (is_output[node.outputs[0]]) return std::nullopt;
    order = transpose->permutation;
  }
  if (is_output[input]) return std::nullopt;
  return order && is_to_canonical(*order) ? order : std::nullopt;
}

}  // namespace

void take_layouts(Session& session) {
  constexpr std::size_t most_inputs = 64;  // each is looked for in all nodes
  Draft& draft = session.draft;
  const bool has_transposes = std::any_of(
      draft.nodes.begin(), draft.nodes.end(),
      [](const DraftNode& node) { return std::holds_alternative<Transpose>(*node.op); });
  if (!has_transposes || draft.inputs.size() > most_inputs) return;
  std::vector<bool> is_output(draft.tensors.size(), false);
  for (const DraftId output : draft.outputs) is_output[output] = true;
  Rewriter rewriter(draft);
  for (const DraftId input : draft.inputs) {
    const std::optional<Axes> order = common_order(draft, is_output, input);
    if (!order) continue;
    const Shape old = draft.shape(input);
    for (std::size_t axis = 0; axis < old.size(); ++axis) {
      draft.tensors[input].type.shape[axis] = old[static_cast<std::size_t>((*order)[axis])];
    }
    for (const DraftNode& node : draft.nodes) {
      if (!node.inputs.empty() && node.inputs[0] == input) rewriter.replace(node.outputs[0], input);
    }
  }
  const Uses uses(draft);
  for (DraftId& output : draft.outputs) {
    const DraftNode* const node = draft.producer<Transpose>(output);
    if (node == nullptr || !uses.is_single(output)) continue;
    if (draft.producer(node->inputs[0]) == nullptr) continue;
    if (is_from_canonical(op_of<Transpose>(*node).permutation)) output = node->inputs[0];
  }
  rewriter.apply();
}

}  // namespace strata::onnx
