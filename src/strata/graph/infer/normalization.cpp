// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

namespace strata {
namespace {

void own_scale_and_shift(Inference& sheet, const Shape& shape, bool scale, bool shift) {
  if (scale) sheet.own_tensor("weight", shape);
  if (shift) sheet.own_tensor("bias", shape);
}

// The extents from `axis` to the last, which one set of statistics covers.
Shape normalized_extents(const Inference& sheet, std::int64_t axis) {
  const Shape& x = sheet.shape(0);
  const std::span<const Dim> extents = x;
  const Shape normalized(extents.subspan(normal_axis(axis, x.size())));
  for (const Dim extent : normalized) sheet.number(extent, "a normalised extent");
  return normalized;
}

}  // namespace

void infer_shapes(const BatchNorm& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 2);
  const Shape channels = {sheet.number(sheet.shape(0)[1], "the number of channels")};
  sheet.output(sheet.shape(0), sheet.dtype(0));
  own_scale_and_shift(sheet, channels, op.scale, op.shift);
  sheet.own_tensor("running_mean", channels, TensorKind::buffer);
  sheet.own_tensor("running_var", channels, TensorKind::buffer);
}

void infer_shapes(const LayerNorm& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.output(sheet.shape(0), sheet.dtype(0));
  own_scale_and_shift(sheet, normalized_extents(sheet, op.axis), op.scale, op.shift);
}

void infer_shapes(const RmsNorm& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.output(sheet.shape(0), sheet.dtype(0));
  own_scale_and_shift(sheet, normalized_extents(sheet, op.axis), op.scale, false);
}

void infer_shapes(const GroupNorm& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 2);
  const std::int64_t channels = sheet.number(sheet.shape(0)[1], "the number of channels");
  if (op.groups < 0 || (op.groups > 0 && channels % op.groups != 0)) {
    fail(ErrorKind::input, "groups = {} does not divide {} channels", op.groups, channels);
  }
  sheet.output(sheet.shape(0), sheet.dtype(0));
  own_scale_and_shift(sheet, {channels}, op.scale, op.shift);
}

void infer_shapes(const LocalResponseNorm& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 2);
  if (op.size < 1) fail(ErrorKind::input, "size must be at least 1, got {}", op.size);
  sheet.output(sheet.shape(0), sheet.dtype(0));
}

}  // namespace strata
