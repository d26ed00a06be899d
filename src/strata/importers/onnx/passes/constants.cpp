// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"
#include "strata/importers/onnx/passes/readers.hpp"

#include <algorithm>

// Exporters store masks, tables of angles and what they computed from them beside the parameters.
// Where the file does not say which is which, what reads a tensor does.
namespace strata::onnx {
namespace {

bool is_wide(const Shape& shape) { return !is_vector(shape); }

bool is_view(const Operator& op) {
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Flatten>(op) ||
         std::holds_alternative<Transpose>(op) || std::holds_alternative<Cast>(op) ||
         std::holds_alternative<Expand>(op) || std::holds_alternative<Slice>(op) ||
         std::holds_alternative<Split>(op) || std::holds_alternative<Pad>(op) ||
         std::holds_alternative<Gather>(op);
}

/// Tells by its readers that a stored tensor is not learnt.
class ConstantJudge {
 public:
  explicit ConstantJudge(const Draft& draft) : draft_(draft), readers_(draft) {}

  /// Every reader takes it for an angle, a mask or a table of factors.
  bool is_constant(DraftId tensor) {
    steps_ = 0;
    return all_readers_say_so(tensor, true);
  }

 private:
  // `is_table`: the numbers of the file themselves, at most moved.
  bool all_readers_say_so(DraftId tensor, bool is_table) {
    constexpr int most_steps = 200;
    if (++steps_ > most_steps) return false;
    const std::span<const NodeId> readers = readers_.of(tensor);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return says_so(draft_.nodes[reader], tensor, is_table);
    });
  }

  bool says_so(const DraftNode& node, DraftId tensor, bool is_table) {
    const std::span<const DraftId> data = std::span(node.inputs).first(node.first_own);
    if (std::find(data.begin(), data.end(), tensor) == data.end()) return false;
    const Operator& op = *node.op;
    if (is_view(op)) return all_outputs_say_so(node, is_table);
    if (const auto* unary = std::get_if<Unary>(&op)) return says_so(*unary, node, is_table);
    if (const auto* sum = std::get_if<Elementwise>(&op)) {
      return says_so(*sum, node, tensor, is_table);
    }
    if (std::holds_alternative<Concat>(op)) {
      return others_are_stored(node, tensor) && all_outputs_say_so(node, is_table);
    }
    if (std::holds_alternative<MatMul>(op)) return all_outputs_say_so(node, false);
    if (std::holds_alternative<Attention>(op)) {
      return is_table && data.size() > 3 && data[3] == tensor && is_for_all_heads(tensor);
    }
    // What a scatter writes into is a canvas for a mask.
    const auto* opaque = std::get_if<Opaque>(&op);
    return opaque != nullptr && opaque->type.starts_with("Scatter");
  }

  bool says_so(const Unary& op, const DraftNode& node, bool is_table) {
    if (op.kind == UnaryKind::sine || op.kind == UnaryKind::cosine) return true;  // an angle
    const bool passes_on = op.kind == UnaryKind::negate || op.kind == UnaryKind::identity;
    return passes_on && all_outputs_say_so(node, is_table);
  }

  bool says_so(const Elementwise& op, const DraftNode& node, DraftId tensor, bool is_table) {
    switch (op.kind) {
      case ElementwiseKind::equal:
      case ElementwiseKind::greater:
      case ElementwiseKind::less:
      case ElementwiseKind::logical_and:
      case ElementwiseKind::logical_or: return true;
      case ElementwiseKind::select:
        return node.inputs[0] == tensor || (is_table && is_wide(draft_.shape(tensor)));
      case ElementwiseKind::multiply:
      case ElementwiseKind::divide:
        if (others_are_stored(node, tensor)) return all_outputs_say_so(node, is_table);
        // Learnt factors are one per channel or head; cosines, sines and windows are tables.
        if (is_table && is_wide(draft_.shape(tensor))) return true;
        return all_outputs_say_so(node, false);
      case ElementwiseKind::add:
      case ElementwiseKind::subtract:
        if (others_are_stored(node, tensor)) return all_outputs_say_so(node, is_table);
        return is_table && is_wide(draft_.shape(tensor)) && is_for_all_heads(tensor) &&
               leads_to_softmax(draft_, readers_, node.outputs[0]);
      default: return false;
    }
  }

  // A mask is the same for all heads, a learnt bias of positions is not.
  bool is_for_all_heads(DraftId tensor) const {
    const Shape& shape = draft_.shape(tensor);
    return shape.size() < 3 || shape[shape.size() - 3].is(1);
  }

  bool others_are_stored(const DraftNode& node, DraftId tensor) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](DraftId input) {
      return input == tensor || draft_.is_stored(input) || draft_.tensors[input].is_fixed;
    });
  }

  bool all_outputs_say_so(const DraftNode& node, bool is_table) {
    bool is_read = false;
    for (const DraftId output : node.outputs) {
      if (readers_.of(output).empty()) continue;
      is_read = true;
      if (!all_readers_say_so(output, is_table)) return false;
    }
    return is_read;
  }

  const Draft& draft_;
  Readers readers_;
  int steps_ = 0;
};

// A name that says so is enough to take a tensor for learnt.
bool is_named_weight(const Session& session, const DraftTensor& tensor) {
  const std::string_view name = tensor.name;
  return name.ends_with("weight") || name.ends_with("bias") ||
         session.signature.is_learnt(name).value_or(false);
}

void spread_fixed(Draft& draft) {
  const auto is_fixed = [&](DraftId id) {
    return draft.tensors[id].is_fixed || draft.tensors[id].kind == TensorKind::constant;
  };
  for (const DraftNode& node : draft.nodes) {
    if (node.first_own == 0 || node.first_own < node.inputs.size()) continue;
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_fixed)) continue;
    for (const DraftId output : node.outputs) draft.tensors[output].is_fixed = true;
  }
}

}  // namespace

void tell_constants(Session& session) {
  Draft& draft = session.draft;
  ConstantJudge judge(draft);
  std::vector<DraftId> found;
  for (DraftId id = 0; id < draft.tensors.size(); ++id) {
    const DraftTensor& tensor = draft.tensors[id];
    if (tensor.kind != TensorKind::parameter || is_named_weight(session, tensor)) continue;
    if (judge.is_constant(id)) found.push_back(id);
  }
  for (const DraftId id : found) draft.tensors[id].kind = TensorKind::constant;
  if (!found.empty()) spread_fixed(draft);
}

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
