// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

#include <limits>

namespace strata {
namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

struct Arity {
  std::size_t least;
  std::size_t most;
};

Arity arity_of(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::add:
    case ElementwiseKind::multiply:
    case ElementwiseKind::maximum:
    case ElementwiseKind::minimum:
    case ElementwiseKind::mean: return {1, any_number};
    case ElementwiseKind::select: return {3, 3};
    default: return {2, 2};
  }
}

DType result_type(ElementwiseKind kind, const Inference& sheet) {
  switch (kind) {
    case ElementwiseKind::equal:
    case ElementwiseKind::greater:
    case ElementwiseKind::less:
    case ElementwiseKind::logical_and:
    case ElementwiseKind::logical_or: return DType::boolean;
    case ElementwiseKind::select: return sheet.dtype(1);
    default: break;
  }
  for (const TensorType& input : sheet.inputs) {
    if (is_floating(input.dtype)) return input.dtype;
  }
  return sheet.dtype(0);
}

}  // namespace

void infer_shapes(const Unary& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.output(sheet.shape(0), op.kind == UnaryKind::logical_not ? DType::boolean : sheet.dtype(0));
  if (op.kind == UnaryKind::prelu) {
    sheet.expect_axes(0, 2);
    sheet.own_tensor("weight", {sheet.number(sheet.shape(0)[1], "the number of channels")});
  }
}

void infer_shapes(const Elementwise& op, Inference& sheet) {
  const Arity arity = arity_of(op.kind);
  sheet.expect_inputs(arity.least, arity.most);
  Shape y = sheet.shape(0);
  for (std::size_t i = 1; i < sheet.inputs.size(); ++i) y = sheet.broadcast(y, sheet.shape(i));
  sheet.output(y, result_type(op.kind, sheet));
}

void infer_shapes(const Softmax& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  normal_axis(op.axis, sheet.shape(0).size());
  sheet.output(sheet.shape(0), sheet.dtype(0));
}

void infer_shapes(const Dropout& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  if (!(op.probability >= 0 && op.probability <= 1)) {
    fail(ErrorKind::input, "probability must lie in 0 … 1, got {}", op.probability);
  }
  sheet.output(sheet.shape(0), sheet.dtype(0));
}

void infer_shapes(const Cast& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.output(sheet.shape(0), op.to);
}

void infer_shapes(const Yolo& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 4, 4);
  if (op.boxes < 1 || op.classes < 0)
    fail(ErrorKind::input, "{} boxes of {} classes", op.boxes, op.classes);
  const std::int64_t expected = checked_mul(op.boxes, checked_add(op.classes, 5));
  const std::int64_t channels = sheet.number(sheet.shape(0)[1], "the number of channels");
  if (channels != expected) {
    fail(ErrorKind::input, "{} boxes of 5 + {} classes need {} channels, got {}", op.boxes,
         op.classes, expected, channels);
  }
  sheet.output(sheet.shape(0), sheet.dtype(0));
}

}  // namespace strata
