// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"
#include "strata/graph/infer/window.hpp"

namespace strata {
namespace {

// Extent that the dilated kernel covers, less one.
std::int64_t reach(const Convolution& op, std::size_t axis) {
  return checked_mul(extent_or(op.dilation, axis, 1), op.kernel[axis] - 1);
}

// ⌊(in + pads − reach − 1) / stride⌋ + 1
Dim output_extent(const Convolution& op, std::size_t axis, Dim in, Symbols& symbols) {
  const std::int64_t pads =
      checked_add(extent_or(op.pad_begin, axis, 0), extent_or(op.pad_end, axis, 0));
  const Dim room = symbols.add(in, checked_add(pads, -checked_add(reach(op, axis), 1)));
  if (room.is_number() && room.factor < 0) {
    fail(ErrorKind::input, "kernel {} (dilation {}) is larger than its padded input, {} + {}",
         op.kernel[axis], extent_or(op.dilation, axis, 1), symbols.text(in), pads);
  }
  return symbols.add(symbols.divide_floor(room, extent_or(op.stride, axis, 1)), 1);
}

// The adjoint: (in − 1)·stride − pads + reach + 1 + output padding
Dim transposed_extent(const Convolution& op, std::size_t axis, Dim in, Symbols& symbols) {
  const std::int64_t pads =
      checked_add(extent_or(op.pad_begin, axis, 0), extent_or(op.pad_end, axis, 0));
  const std::int64_t added =
      checked_add(checked_add(reach(op, axis), 1), extent_or(op.output_padding, axis, 0));
  const Dim spread = symbols.multiply(symbols.add(in, -1), extent_or(op.stride, axis, 1));
  return symbols.add(spread, checked_add(added, -pads));
}

}  // namespace

void infer_shapes(const Convolution& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  const std::size_t axes = op.kernel.size();
  check_window(op, axes);
  sheet.expect_axes(0, axes + 2, axes + 2);
  if (!op.output_padding.empty() && (!op.transposed || op.output_padding.size() != axes)) {
    fail(ErrorKind::input,
         "output padding needs a transposed convolution and one entry per spatial axis");
  }
  const Shape& x = sheet.shape(0);
  const std::int64_t in_channels = sheet.number(x[1], "the number of input channels");
  if (op.channels < 1) fail(ErrorKind::input, "channels must be at least 1, got {}", op.channels);
  if (op.groups < 1 || in_channels % op.groups != 0 || op.channels % op.groups != 0) {
    fail(ErrorKind::input, "groups = {} does not divide {} input and {} output channels", op.groups,
         in_channels, op.channels);
  }

  Shape y = {x[0], op.channels};
  Shape weight = op.transposed ? Shape{in_channels, op.channels / op.groups}
                               : Shape{op.channels, in_channels / op.groups};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    y.push_back(op.transposed ? transposed_extent(op, axis, x[axis + 2], sheet.symbols)
                              : output_extent(op, axis, x[axis + 2], sheet.symbols));
    weight.push_back(op.kernel[axis]);
  }
  sheet.output(y, sheet.dtype(0));
  sheet.own_tensor("weight", weight);
  if (op.bias) sheet.own_tensor("bias", {op.channels});
}

}  // namespace strata
