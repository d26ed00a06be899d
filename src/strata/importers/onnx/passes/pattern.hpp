// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/draft.hpp"

#include <optional>
#include <utility>

/// Questions that patterns ask of the draft.
namespace strata::onnx {

/// No real pattern is longer; files of strangers are.
inline constexpr int longest_walk = 16;

/// The node that makes the tensor, if it is that function of two operands; else nullptr.
const DraftNode* made_by(const Draft& draft, DraftId tensor, ElementwiseKind kind);
const DraftNode* made_by(const Draft& draft, DraftId tensor, UnaryKind kind);

/// A change of data type hides what it is applied to.
DraftId behind_casts(const Draft& draft, DraftId tensor);

/// For a node of two operands of which one is a constant scalar: the other one and the scalar.
struct ScalarOperand {
  DraftId tensor;
  double scalar;
  bool is_second;  ///< the scalar is the second operand
};
std::optional<ScalarOperand> with_scalar(const Draft& draft, const DraftNode& node);

/// The operand of the node that is not `tensor`; nothing when neither or both are.
std::optional<DraftId> other_operand(const DraftNode& node, DraftId tensor);

/// Approximate equality for constants that exporters round.
bool is_near(double value, double expected);

/// Whether a stored tensor has one number for each of the last extents of a shape.
bool covers_last(const Draft& draft, DraftId stored, const Shape& extents);

/// A stored tensor with the same numbers under another shape.
DraftId with_shape(Draft& draft, DraftId stored, const Shape& shape, const char* role);

/// A product or convolution like this one that has a bias.
Operator with_bias(const Operator& op);

}  // namespace strata::onnx
