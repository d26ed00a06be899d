// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/tensor_data.hpp"

#include <map>

namespace strata::onnx {
namespace {

// The tables that are looked up, by shape; no real network has many of one shape.
std::map<std::pair<std::int64_t, std::int64_t>, DraftId> tables_of(const Draft& draft) {
  std::map<std::pair<std::int64_t, std::int64_t>, DraftId> tables;
  for (const DraftNode& node : draft.nodes) {
    const auto* op = std::get_if<Embedding>(node.op.get());
    if (op == nullptr || draft.tensors[node.inputs[node.first_own]].data == nullptr) continue;
    tables.try_emplace({op->vocabulary, op->width}, node.inputs[node.first_own]);
  }
  return tables;
}

}  // namespace

// Exporters that transpose the weights of products in advance store a tied output layer a second
// time.
void tie_weights(Session& session) {
  Draft& draft = session.draft;
  const auto tables = tables_of(draft);
  if (tables.empty()) return;
  for (DraftNode& node : draft.nodes) {
    if (!std::holds_alternative<Linear>(*node.op)) continue;
    DraftId& weight = node.inputs[node.first_own];
    const Shape& shape = draft.shape(weight);
    const TensorDef* const data = draft.tensors[weight].data;
    if (data == nullptr || !shape[0].is_number() || !shape[1].is_number()) continue;
    const auto table = tables.find({shape[0].factor, shape[1].factor});
    if (table == tables.end() || table->second == weight) continue;
    if (are_same_matrix(*draft.tensors[table->second].data, *data)) weight = table->second;
  }
}

}  // namespace strata::onnx
