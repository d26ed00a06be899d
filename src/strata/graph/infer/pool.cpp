// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"
#include "strata/graph/infer/window.hpp"

namespace strata {
namespace {

Dim pooled_extent(const Pool& op, std::size_t axis, Dim in, Symbols& symbols) {
  const std::int64_t begin = extent_or(op.pad_begin, axis, 0);
  const std::int64_t pads = checked_add(begin, extent_or(op.pad_end, axis, 0));
  const std::int64_t stride = extent_or(op.stride, axis, 1);
  const std::int64_t cover =
      checked_add(checked_mul(extent_or(op.dilation, axis, 1), op.kernel[axis] - 1), 1);
  const Dim room = symbols.add(in, checked_add(pads, -cover));
  if (room.is_number() && room.factor < 0) {
    fail(ErrorKind::input, "window {} is larger than its padded input, {} + {}", op.kernel[axis],
         symbols.text(in), pads);
  }
  if (!op.ceil_mode) return symbols.add(symbols.divide_floor(room, stride), 1);
  // Rounded up, but the last window must begin inside the input or its leading padding (Caffe and
  // PyTorch agree).
  const Dim rounded_up = symbols.add(symbols.divide_ceil(room, stride), 1);
  const Dim last_inside = symbols.add(symbols.divide_floor(symbols.add(in, begin - 1), stride), 1);
  return symbols.minimum(rounded_up, last_inside);
}

}  // namespace

void infer_shapes(const Pool& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  const std::size_t axes = op.kernel.size();
  check_window(op, axes);
  sheet.expect_axes(0, axes + 2, axes + 2);
  Shape y = sheet.shape(0);
  for (std::size_t axis = 0; axis < axes; ++axis)
    y[axis + 2] = pooled_extent(op, axis, y[axis + 2], sheet.symbols);
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const AdaptivePool& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 3, 5);
  Shape y = sheet.shape(0);
  if (!op.output.empty() && op.output.size() != y.size() - 2) {
    fail(ErrorKind::input, "output has {} entries for {} spatial axes", op.output.size(),
         y.size() - 2);
  }
  for (std::size_t axis = 2; axis < y.size(); ++axis) y[axis] = extent_or(op.output, axis - 2, 1);
  sheet.output(y, sheet.dtype(0));
}

}  // namespace strata
