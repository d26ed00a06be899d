// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/cost.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/cost/recorded_costs.hpp"
#include "strata/cost/sheet.hpp"

#include <algorithm>
#include <variant>

namespace strata {
namespace {

std::int64_t bytes_of(const PassCost& pass, AccessMode mode) {
  Count bytes;
  for (const Access& access : pass.accesses) {
    if (access.mode == mode) bytes += access.bytes;
  }
  return bytes.value();
}

// Notes what backward reads: each tensor once, and parameters, statistics and tables not at all,
// since they stay anyway.
class KeptList {
 public:
  KeptList(const BoundGraph& bound, const Node& node, const NodeCost& cost)
      : bound_(bound), node_(node), cost_(cost) {}

  void note(const PassCost& pass) {
    for (const Access& access : pass.accesses) {
      if (access.mode != AccessMode::read) continue;
      if (access.operand == Operand::input) note_input(node_.inputs[access.index]);
      if (access.operand == Operand::output) note_output(node_.outputs[access.index]);
    }
  }

  Kept result() && {
    if (keeps_numbers_) say("input");
    if (keeps_indices_) say("indices");
    if (keeps_condition_) say("condition");
    if (kept_.output) say("output");
    for (const Access& access : cost_.forward.accesses) {
      if (access.operand != Operand::saved) continue;
      bytes_ += access.bytes;
      say(cost_.saved[access.index].name);
    }
    kept_.bytes = bytes_.value();
    if (kept_.text.empty()) kept_.text = "nothing";
    return std::move(kept_);
  }

 private:
  // Integers and truth values that choose among the data go by what they are.
  void note_input(TensorId id) {
    const TensorKind kind = bound_.graph->tensors[id].kind;
    if (kind != TensorKind::input && kind != TensorKind::activation) return;
    if (!is_new(id)) return;
    kept_.input = true;
    const DType dtype = bound_.tensors[id].dtype;
    if (is_floating(dtype)) {
      keeps_numbers_ = true;
    } else {
      (dtype == DType::boolean ? keeps_condition_ : keeps_indices_) = true;
    }
  }

  void note_output(TensorId id) {
    if (is_new(id)) kept_.output = true;
  }

  bool is_new(TensorId id) {
    if (std::find(seen_.begin(), seen_.end(), id) != seen_.end()) return false;
    seen_.push_back(id);
    bytes_ += bound_.tensors[id].bytes;
    return true;
  }

  void say(std::string_view word) {
    if (!kept_.text.empty()) kept_.text += " + ";
    kept_.text += word;
  }

  const BoundGraph& bound_;
  const Node& node_;
  const NodeCost& cost_;
  Count bytes_;
  std::vector<TensorId> seen_;
  bool keeps_numbers_ = false;
  bool keeps_indices_ = false;
  bool keeps_condition_ = false;
  Kept kept_;
};

}  // namespace

bool PassCost::only_renames() const {
  return std::all_of(accesses.begin(), accesses.end(),
                     [](const Access& access) { return access.mode == AccessMode::alias; });
}

std::int64_t PassCost::read_bytes() const { return bytes_of(*this, AccessMode::read); }
std::int64_t PassCost::write_bytes() const { return bytes_of(*this, AccessMode::write); }

NodeCost cost_of(const BoundGraph& bound, NodeId node, Mode mode) {
  if (bound.graph->recording != nullptr) return recorded_costs(bound)[node];
  try {
    CostSheet sheet(bound, node, mode);
    std::visit([&sheet](const auto& op) { write_cost(op, sheet); }, bound.graph->nodes[node].op);
    return std::move(sheet).take();
  } catch (Error& error) {
    error.add_context(fmt::format("node '{}'", bound.graph->nodes[node].name));
    throw;
  }
}

std::vector<NodeCost> costs_of(const BoundGraph& bound, Mode mode) {
  if (bound.graph->recording != nullptr) return recorded_costs(bound);
  std::vector<NodeCost> costs;
  costs.reserve(bound.graph->nodes.size());
  for (NodeId node = 0; node < bound.graph->nodes.size(); ++node) {
    costs.push_back(cost_of(bound, node, mode));
  }
  return costs;
}

Kept kept_for_backward(const BoundGraph& bound, NodeId node, const NodeCost& cost) {
  KeptList kept(bound, bound.graph->nodes[node], cost);
  kept.note(cost.backward_input);
  kept.note(cost.backward_weight);
  return std::move(kept).result();
}

}  // namespace strata
