// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/draft.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <algorithm>
#include <numeric>

namespace strata::onnx {
namespace {

void number_producers(Draft& draft) {
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    for (const DraftId output : draft.nodes[id].outputs) draft.tensors[output].producer = id;
  }
}

}  // namespace

DraftId Draft::add_tensor(DraftTensor tensor) {
  if (tensors.size() >= most_draft_tensors) {
    fail(ErrorKind::input, "more than {} tensors", most_draft_tensors);
  }
  tensors.push_back(std::move(tensor));
  return static_cast<DraftId>(tensors.size() - 1);
}

DraftNode Draft::make(Operator op, std::span<const DraftId> data, std::span<const DraftId> own,
                      std::uint32_t origin, const char* suffix) {
  sheet_.clear();
  for (const DraftId id : data) sheet_.inputs.push_back(tensors[id].type);
  infer(op, sheet_);
  if (sheet_.own.size() != own.size()) {
    fail(ErrorKind::input, "has {} weights, the operator has {}", own.size(), sheet_.own.size());
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (shape(own[i]) == sheet_.own[i].shape) continue;
    fail(ErrorKind::input, "{} is {}, expected {}", sheet_.own[i].name,
         text_of(shape(own[i]), symbols), text_of(sheet_.own[i].shape, symbols));
  }
  DraftNode node{std::make_unique<Operator>(std::move(op)), {}, {}, 0, origin, suffix};
  node.inputs.reserve(data.size() + own.size());
  node.inputs.assign(data.begin(), data.end());
  node.first_own = static_cast<std::uint32_t>(data.size());
  node.inputs.insert(node.inputs.end(), own.begin(), own.end());
  node.outputs.reserve(sheet_.outputs.size());
  bool is_fixed = !data.empty() && own.empty();
  bool is_causal_mask = false;
  for (const DraftId id : data) {
    is_fixed = is_fixed && (tensors[id].is_fixed || tensors[id].kind == TensorKind::constant);
    is_causal_mask = is_causal_mask || tensors[id].is_causal_mask;
  }
  for (const TensorType& type : sheet_.outputs) {
    node.outputs.push_back(
        add_tensor({.type = type,
                    .batch_offset = data.empty() ? 1 : tensors[data[0]].batch_offset,
                    .is_fixed = is_fixed,
                    .is_causal_mask = is_fixed && is_causal_mask}));
  }
  return node;
}

NodeId Draft::append(DraftNode node) {
  const auto id = static_cast<NodeId>(nodes.size());
  for (const DraftId output : node.outputs) tensors[output].producer = id;
  nodes.push_back(std::move(node));
  return id;
}

const DraftNode* Draft::producer(DraftId tensor) const {
  const NodeId id = tensors[tensor].producer;
  if (id == no_node || nodes[id].op == nullptr) return nullptr;
  return &nodes[id];
}

std::optional<double> Draft::scalar(DraftId tensor) const {
  const KnownNumbers& numbers = tensors[tensor].numbers;
  if (!is_stored(tensor) || numbers == nullptr || numbers->size() != 1) return std::nullopt;
  if (!numbers->front().is_plain()) return std::nullopt;
  return numbers->front().value();
}

Uses::Uses(const Draft& draft)
    : count(draft.tensors.size(), 0), reader(draft.tensors.size(), no_node) {
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    for (const DraftId input : draft.nodes[id].inputs) {
      ++count[input];
      reader[input] = id;
    }
  }
  for (const DraftId output : draft.outputs) {
    ++count[output];
    reader[output] = no_node;
  }
}

const DraftNode* Uses::only_reader(const Draft& draft, DraftId tensor) const {
  if (count[tensor] != 1 || reader[tensor] == no_node) return nullptr;
  return &draft.nodes[reader[tensor]];
}

DraftId Rewriter::add(Operator op, std::span<const DraftId> data, std::span<const DraftId> own,
                      std::uint32_t origin, const char* suffix) {
  DraftNode node = draft_.make(std::move(op), data, own, origin, suffix);
  const DraftId output = node.outputs.front();
  added_.push_back({position_, std::move(node)});
  return output;
}

void Rewriter::apply() {
  std::stable_sort(added_.begin(), added_.end(),
                   [](const Added& a, const Added& b) { return a.position < b.position; });
  std::vector<DraftNode> merged;
  merged.reserve(draft_.nodes.size() + added_.size());
  auto next = added_.begin();
  for (NodeId id = 0; id < draft_.nodes.size(); ++id) {
    for (; next != added_.end() && next->position <= id; ++next) {
      merged.push_back(std::move(next->node));
    }
    merged.push_back(std::move(draft_.nodes[id]));
  }
  for (; next != added_.end(); ++next) merged.push_back(std::move(next->node));
  draft_.nodes = std::move(merged);

  // What replaces a tensor may be replaced itself: followed to the end, paths halved on the way.
  std::vector<DraftId> target(draft_.tensors.size());
  std::iota(target.begin(), target.end(), DraftId{0});
  for (const auto& [old, fresh] : aliases_) target[old] = fresh;
  const auto resolve = [&target](DraftId& id) {
    while (target[id] != id) id = target[id] = target[target[id]];
  };
  for (DraftNode& node : draft_.nodes)
    std::for_each(node.inputs.begin(), node.inputs.end(), resolve);
  std::for_each(draft_.outputs.begin(), draft_.outputs.end(), resolve);
  added_.clear();
  aliases_.clear();
  number_producers(draft_);
  remove_dead(draft_);
}

void remove_dead(Draft& draft) {
  std::vector<bool> is_needed(draft.tensors.size(), false);
  for (const DraftId output : draft.outputs) is_needed[output] = true;
  for (auto node = draft.nodes.rbegin(); node != draft.nodes.rend(); ++node) {
    if (node->op == nullptr) continue;
    const bool is_used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                     [&](DraftId id) { return is_needed[id]; });
    if (!is_used) {
      node->op.reset();
      for (const DraftId output : node->outputs) draft.tensors[output].producer = no_node;
      continue;
    }
    for (const DraftId input : node->inputs) is_needed[input] = true;
  }
  std::erase_if(draft.nodes, [](const DraftNode& node) { return node.op == nullptr; });
  number_producers(draft);
}

}  // namespace strata::onnx
