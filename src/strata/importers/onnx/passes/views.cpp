// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/limits.hpp"
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/view_ops.hpp"

#include <algorithm>

namespace strata::onnx {
namespace {

std::size_t count_of_transposes(const std::vector<DraftNode>& nodes) {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const DraftNode& node) {
        return node.op != nullptr && std::holds_alternative<Transpose>(*node.op);
      }));
}

bool has_views(const Draft& draft) {
  return std::any_of(draft.nodes.begin(), draft.nodes.end(), [](const DraftNode& node) {
    return std::holds_alternative<Transpose>(*node.op) || std::holds_alternative<Reshape>(*node.op);
  });
}

}  // namespace

// The whole list of nodes is written anew with views in place of transposes and reshapes, and kept
// only if that is better: fewer numbers moved, or as many by fewer nodes.
void defer_views(Session& session) {
  Draft& draft = session.draft;
  if (!has_views(draft)) return;
  if (draft.nodes.size() > most_nodes_twice) return;
  if (draft.tensors.size() + 2 * draft.nodes.size() > most_draft_tensors) return;
  ViewWriter writer(draft);
  std::vector<DraftNode> old = std::move(draft.nodes);
  const std::vector<DraftId> old_outputs = draft.outputs;
  draft.nodes.clear();
  draft.nodes.reserve(old.size());
  for (const DraftNode& node : old) writer.write(node);
  for (DraftId& output : draft.outputs) output = writer.tensor(output);
  remove_dead(draft);
  const std::size_t before = count_of_transposes(old);
  const std::size_t after = count_of_transposes(draft.nodes);
  if (after < before || (after == before && draft.nodes.size() < old.size())) return;
  draft.nodes = std::move(old);
  draft.outputs = old_outputs;
  remove_dead(draft);
}

}  // namespace strata::onnx
