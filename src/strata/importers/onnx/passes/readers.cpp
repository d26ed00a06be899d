// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/readers.hpp"

#include "strata/importers/onnx/passes/pattern.hpp"

#include <numeric>

namespace strata::onnx {
namespace {

bool keeps_scores(const Operator& op) {
  if (const auto* elementwise = std::get_if<Elementwise>(&op)) {
    switch (elementwise->kind) {
      case ElementwiseKind::add:
      case ElementwiseKind::subtract:
      case ElementwiseKind::multiply:
      case ElementwiseKind::divide:
      case ElementwiseKind::maximum:
      case ElementwiseKind::select: return true;
      default: return false;
    }
  }
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Cast>(op);
}

}  // namespace

Readers::Readers(const Draft& draft) : begin_(draft.tensors.size() + 1, 0) {
  for (const DraftNode& node : draft.nodes) {
    for (const DraftId input : node.inputs) ++begin_[input + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  nodes_.resize(begin_.back());
  std::vector<std::size_t> next = begin_;
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    for (const DraftId input : draft.nodes[id].inputs) nodes_[next[input]++] = id;
  }
}

bool leads_to_softmax(const Draft& draft, const Readers& readers, DraftId tensor) {
  for (int step = 0; step < longest_walk; ++step) {
    const std::span<const NodeId> next = readers.of(tensor);
    if (next.empty()) return false;
    const DraftNode& reader = draft.nodes[next.front()];
    if (const auto* softmax = std::get_if<Softmax>(reader.op.get())) {
      const auto last = static_cast<std::int64_t>(draft.shape(tensor).size()) - 1;
      return softmax->axis == -1 || softmax->axis == last;
    }
    if (next.size() > 1 || !keeps_scores(*reader.op)) return false;
    tensor = reader.outputs[0];
  }
  return false;
}

}  // namespace strata::onnx
