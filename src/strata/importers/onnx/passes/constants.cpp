// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"

#include <algorithm>

namespace strata::onnx {

// Masks and position numbers that exporters compute from sizes: the same in every iteration, so
// they are stored, not computed.
void store_fixed_tensors(Session& session) {
  Draft& draft = session.draft;
  bool has_changed = false;
  for (DraftNode& node : draft.nodes) {
    const bool is_fixed = std::all_of(node.outputs.begin(), node.outputs.end(),
                                      [&](DraftId id) { return draft.tensors[id].is_fixed; });
    if (!is_fixed) continue;
    for (const DraftId output : node.outputs) {
      DraftTensor& tensor = draft.tensors[output];
      tensor.kind = TensorKind::constant;
      tensor.producer = no_node;
      tensor.role = "constant";
    }
    node.op.reset();
    node.outputs.clear();
    has_changed = true;
  }
  if (has_changed) remove_dead(draft);
}

}  // namespace strata::onnx
