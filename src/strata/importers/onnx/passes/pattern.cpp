// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/pattern.hpp"

#include <cmath>

namespace strata::onnx {

const DraftNode* made_by(const Draft& draft, DraftId tensor, ElementwiseKind kind) {
  const DraftNode* const node = draft.producer<Elementwise>(tensor);
  const bool fits = node != nullptr && op_of<Elementwise>(*node).kind == kind &&
                    node->inputs.size() == (kind == ElementwiseKind::select ? 3 : 2);
  return fits ? node : nullptr;
}

const DraftNode* made_by(const Draft& draft, DraftId tensor, UnaryKind kind) {
  const DraftNode* const node = draft.producer<Unary>(tensor);
  return node != nullptr && op_of<Unary>(*node).kind == kind ? node : nullptr;
}

DraftId behind_casts(const Draft& draft, DraftId tensor) {
  for (int step = 0; step < longest_walk; ++step) {
    const DraftNode* const cast = draft.producer<Cast>(tensor);
    if (cast == nullptr) break;
    tensor = cast->inputs[0];
  }
  return tensor;
}

std::optional<ScalarOperand> with_scalar(const Draft& draft, const DraftNode& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  if (const std::optional<double> second = draft.scalar(node.inputs[1])) {
    return ScalarOperand{node.inputs[0], *second, true};
  }
  if (const std::optional<double> first = draft.scalar(node.inputs[0])) {
    return ScalarOperand{node.inputs[1], *first, false};
  }
  return std::nullopt;
}

std::optional<DraftId> other_operand(const DraftNode& node, DraftId tensor) {
  if (node.inputs.size() != 2 || (node.inputs[0] == tensor) == (node.inputs[1] == tensor)) {
    return std::nullopt;
  }
  return node.inputs[0] == tensor ? node.inputs[1] : node.inputs[0];
}

bool is_near(double value, double expected) {
  return std::abs(value - expected) <= 2e-3 * std::abs(expected);
}

bool covers_last(const Draft& draft, DraftId stored, const Shape& extents) {
  if (!draft.is_stored(stored)) return false;
  const Shape& shape = draft.shape(stored);
  if (shape.size() < extents.size()) return false;
  const std::size_t lead = shape.size() - extents.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != (axis < lead ? Dim(1) : extents[axis - lead])) return false;
  }
  return true;
}

DraftId with_shape(Draft& draft, DraftId stored, const Shape& shape, const char* role) {
  draft.tensors[stored].kind = TensorKind::parameter;
  if (draft.shape(stored) == shape) return stored;
  DraftTensor tensor = draft.tensors[stored];
  tensor.type.shape = shape;
  tensor.role = role;
  return draft.add_tensor(std::move(tensor));
}

Operator with_bias(const Operator& op) {
  if (const auto* linear = std::get_if<Linear>(&op)) return Linear{linear->features, true};
  Convolution convolution = std::get<Convolution>(op);
  convolution.bias = true;
  return convolution;
}

}  // namespace strata::onnx
