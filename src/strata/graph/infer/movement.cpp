// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace strata {
namespace {

// Each part is a tensor; a file may not ask for millions.
constexpr std::int64_t most_parts = 65'536;

// Position `at` of an axis as NumPy reads it: negative counts from the end, then clipped to 0 …
// extent.
Dim position(Dim at, Dim extent, Symbols& symbols) {
  if (at.is_number() && extent.is_number()) {
    const std::int64_t from_begin =
        at.factor < 0 ? checked_add(at.factor, extent.factor) : at.factor;
    return std::clamp<std::int64_t>(from_begin, 0, extent.factor);
  }
  if (at.is(std::numeric_limits<std::int64_t>::max())) return extent;  // the customary "to the end"
  if (at.is_number() && at.factor < 0) return symbols.maximum(symbols.add(extent, at), 0);
  return at.is(0) ? at : symbols.minimum(at, extent);
}

Dim sliced_extent(Dim extent, Dim begin, Dim end, std::int64_t step, Symbols& symbols) {
  if (step == 0) fail(ErrorKind::input, "step must not be 0");
  if (step > 0) {
    const Dim length =
        symbols.subtract(position(end, extent, symbols), position(begin, extent, symbols));
    return symbols.divide_ceil(length, step);
  }
  if (!extent.is_number() || !begin.is_number() || !end.is_number()) {
    fail(ErrorKind::unsupported, "a slice with a negative step needs extents known as numbers");
  }
  // Walking down: begin is clipped to the last element, end to one before the first.
  const std::int64_t n = extent.factor;
  const std::int64_t from = std::clamp<std::int64_t>(
      begin.factor < 0 ? checked_add(begin.factor, n) : begin.factor, -1, n - 1);
  const std::int64_t to =
      std::clamp<std::int64_t>(end.factor < 0 ? checked_add(end.factor, n) : end.factor, -1, n - 1);
  return from <= to
             ? 0
             : (from - to - 1) / -std::max(step, -std::numeric_limits<std::int64_t>::max()) + 1;
}

}  // namespace

void infer_shapes(const Concat& op, Inference& sheet) {
  sheet.expect_inputs(1, std::numeric_limits<std::size_t>::max());
  Shape y = sheet.shape(0);
  const std::size_t joined = normal_axis(op.axis, y.size());
  for (std::size_t i = 1; i < sheet.inputs.size(); ++i) {
    const Shape& x = sheet.shape(i);
    sheet.expect_axes(i, y.size(), y.size());
    for (std::size_t axis = 0; axis < y.size(); ++axis) {
      if (axis == joined) {
        y[axis] = sheet.symbols.add(y[axis], x[axis]);
      } else {
        sheet.assume_equal(y[axis], x[axis], "extents of joined tensors");
      }
    }
  }
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Split& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  Shape y = sheet.shape(0);
  const std::size_t axis = normal_axis(op.axis, y.size());
  const Dim whole = y[axis];
  if (op.sizes.empty()) {
    if (op.parts < 1 || op.parts > most_parts) {
      fail(ErrorKind::input, "parts must be 1 to {}, got {}", most_parts, op.parts);
    }
    const std::optional<Dim> part = sheet.symbols.divide_exactly(whole, op.parts);
    if (!part)
      fail(ErrorKind::input, "{} does not split into {} equal parts", sheet.symbols.text(whole),
           op.parts);
    y[axis] = *part;
    for (std::int64_t i = 0; i < op.parts; ++i) sheet.output(y, sheet.dtype(0));
    return;
  }
  std::int64_t total = 0;
  for (const std::int64_t size : op.sizes) {
    total = checked_add(total, size);
    y[axis] = size;
    sheet.output(y, sheet.dtype(0));
  }
  sheet.assume_equal(whole, total, "the extent and the sum of the parts");
}

void infer_shapes(const Slice& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  if (op.begin.size() != op.axes.size() || op.end.size() != op.axes.size() ||
      (!op.step.empty() && op.step.size() != op.axes.size())) {
    fail(ErrorKind::input, "axes, begin, end and step must have the same number of entries");
  }
  Shape y = sheet.shape(0);
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    Dim& extent = y[normal_axis(op.axes[i], y.size())];
    extent = sliced_extent(extent, op.begin[i], op.end[i], op.step.empty() ? 1 : op.step[i],
                           sheet.symbols);
  }
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Reshape& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  const Shape& x = sheet.shape(0);
  Shape y = op.shape;
  Dim known = 1;
  std::optional<std::size_t> open;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    if (y[axis].is(0)) {
      if (axis >= x.size())
        fail(ErrorKind::input, "the shape keeps axis {}, which the input does not have", axis);
      y[axis] = x[axis];
    }
    if (!y[axis].is(-1)) {
      known = sheet.symbols.multiply(known, y[axis]);
    } else if (open) {
      fail(ErrorKind::input, "the shape has more than one -1");
    } else {
      open = axis;
    }
  }
  const Dim total = elements_of(x, sheet.symbols);
  if (open) {
    const std::optional<Dim> rest = sheet.symbols.divide_exactly(total, known);
    if (!rest)
      fail(ErrorKind::input, "{} does not reshape into {}", text_of(x, sheet.symbols),
           text_of(y, sheet.symbols));
    y[*open] = *rest;
    known = sheet.symbols.multiply(known, *rest);
  }
  sheet.assume_equal(total, known, "numbers of elements before and after");
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Flatten& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  const Shape& x = sheet.shape(0);
  const std::size_t axis = normal_axis(op.axis, x.size());
  const std::span<const Dim> extents = x;
  Shape y(extents.first(axis));
  y.push_back(elements_of(Shape(extents.subspan(axis)), sheet.symbols));
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Transpose& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  const Shape& x = sheet.shape(0);
  if (!op.permutation.empty() && op.permutation.size() != x.size()) {
    fail(ErrorKind::input, "the permutation has {} entries for {} axes", op.permutation.size(),
         x.size());
  }
  std::array<bool, most_axes> is_taken{};
  Shape y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t from =
        op.permutation.empty() ? x.size() - 1 - i : normal_axis(op.permutation[i], x.size());
    if (is_taken[from]) fail(ErrorKind::input, "the permutation names axis {} twice", from);
    is_taken[from] = true;
    y.push_back(x[from]);
  }
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Expand& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.output(sheet.broadcast(sheet.shape(0), op.shape), sheet.dtype(0));
}

void infer_shapes(const Pad& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  Shape y = sheet.shape(0);
  if (op.begin.size() != y.size() || op.end.size() != y.size()) {
    fail(ErrorKind::input, "padding has {} and {} entries for {} axes", op.begin.size(),
         op.end.size(), y.size());
  }
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    y[axis] = sheet.symbols.add(y[axis], checked_add(op.begin[axis], op.end[axis]));
  }
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const ChannelShuffle& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 2);
  const std::int64_t channels = sheet.number(sheet.shape(0)[1], "the number of channels");
  if (op.groups < 1 || channels % op.groups != 0) {
    fail(ErrorKind::input, "groups = {} does not divide {} channels", op.groups, channels);
  }
  sheet.output(sheet.shape(0), sheet.dtype(0));
}

void infer_shapes(const SpaceToDepth& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 4, 4);
  if (op.block < 1) fail(ErrorKind::input, "block must be at least 1, got {}", op.block);
  Symbols& symbols = sheet.symbols;
  Shape y = sheet.shape(0);
  const std::int64_t places = checked_mul(op.block, op.block);
  const auto divide = [&](Dim extent, std::int64_t by) {
    const std::optional<Dim> quotient = symbols.divide_exactly(extent, by);
    if (!quotient) fail(ErrorKind::input, "{} is not a multiple of {}", symbols.text(extent), by);
    return *quotient;
  };
  if (op.inverse) {
    y[1] = divide(y[1], places);
    for (const std::size_t axis : {2, 3}) y[axis] = symbols.multiply(y[axis], op.block);
  } else {
    y[1] = symbols.multiply(y[1], places);
    for (const std::size_t axis : {2, 3}) y[axis] = divide(y[axis], op.block);
  }
  sheet.output(y, sheet.dtype(0));
}

}  // namespace strata
