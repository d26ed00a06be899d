// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/ops/shapes.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/batch.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace strata::onnx {
namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
// Exporters write "to the end" as any very large number.
constexpr std::int64_t beyond_any_extent = (std::int64_t{1} << 31) - 1;

std::vector<Dim> written_target(OpContext& context) {
  if (context.has(1)) return context.dims(1, "the target shape");
  const auto attribute = context.integers("shape");  // opset 1
  if (!attribute) fail(ErrorKind::input, "the target shape is missing");
  return {attribute->begin(), attribute->end()};
}

// Product of the plain extents of x and the symbolic ones, divided by what the target has already.
Dim remaining(OpContext& context, const Shape& x, const Shape& target, std::size_t open) {
  Symbols& symbols = context.symbols();
  Shape known;
  for (std::size_t axis = 0; axis < target.size(); ++axis) {
    if (axis != open) known.push_back(target[axis]);
  }
  // Extents on both sides cancel first: (batch·seq·768)/(seq·768) is batch, whatever the order.
  Shape left = x;
  Dim divisor = 1;
  for (const Dim extent : known) {
    Dim* const same = std::find(left.begin(), left.end(), extent);
    if (same != left.end() && !extent.is(0)) {
      *same = 1;
    } else {
      divisor = symbols.multiply(divisor, extent);
    }
  }
  const Dim total = elements_of(left, symbols);
  if (total.is(0)) return 0;
  const std::optional<Dim> rest = symbols.divide_exactly(total, divisor);
  if (!rest) {
    fail(ErrorKind::input, "{} does not reshape into {}", text_of(x, symbols),
         text_of(target, symbols));
  }
  return *rest;
}

// Where the sizes are computed from data, the file may still say the results.
std::vector<std::int64_t> declared_split_sizes(OpContext& context, std::size_t axis) {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    const std::optional<TensorType> declared = context.declared_type(i);
    if (!declared || axis >= declared->shape.size() || !declared->shape[axis].is_number()) {
      fail(ErrorKind::unsupported, "the sizes of the parts are not known before the network runs");
    }
    sizes.push_back(declared->shape[axis].factor);
  }
  return sizes;
}

}  // namespace

Shape reshape_target(OpContext& context) {
  const Shape& x = context.shape(0);
  const bool keeps_zero = context.integer("allowzero", 0) != 0;
  Shape target;
  std::optional<std::size_t> open;
  for (const Dim dim : written_target(context)) {
    const std::size_t axis = target.size();
    if (dim.is(0) && !keeps_zero) {
      if (axis >= x.size()) {
        fail(ErrorKind::input, "the target keeps axis {}, which the input does not have", axis);
      }
      target.push_back(x[axis]);
      continue;
    }
    if (dim.is(-1)) {
      if (open) fail(ErrorKind::input, "the target shape has more than one -1");
      open = axis;
    } else if (dim.factor < 0) {
      fail(ErrorKind::input, "an extent of {} in the target shape", dim.factor);
    }
    target.push_back(dim);
  }
  open_batch(context, x, target, open);
  if (open && target[*open].is(-1)) target[*open] = remaining(context, x, target, *open);
  return target;
}

Shape squeezed_shape(OpContext& context) {
  const Shape& x = context.shape(0);
  const auto axes = context.axes(1, "axes");
  std::array<bool, most_axes> is_dropped{};
  for (const std::int64_t given : axes.value_or(std::vector<std::int64_t>{})) {
    const std::size_t axis = normal_axis(given, x.size());
    is_dropped[axis] = true;
    if (x[axis].is_number() && !x[axis].is(1)) {
      fail(ErrorKind::input, "axis {} has extent {}, not 1", given, x[axis].factor);
    }
    if (!x[axis].is_number()) refuse_open_batch(context, "an axis with the batch is squeezed");
  }
  Shape y;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (!axes && !x[axis].is_number() && context.session().batch.file_value == 1) {
      refuse_open_batch(context, "every axis of extent 1 is squeezed");
    }
    const bool drops = axes ? is_dropped[axis] : x[axis].is(1);
    if (!drops) y.push_back(x[axis]);
  }
  return y;
}

Shape unsqueezed_shape(OpContext& context) {
  const Shape& x = context.shape(0);
  const auto axes = context.axes(1, "axes");
  if (!axes) fail(ErrorKind::input, "axes are missing");
  const std::size_t rank = x.size() + axes->size();
  if (rank > most_axes) fail(ErrorKind::unsupported, "a tensor with {} axes", rank);
  std::array<bool, most_axes> is_new{};
  for (const std::int64_t given : *axes) {
    const std::size_t axis = normal_axis(given, rank);
    if (is_new[axis]) fail(ErrorKind::input, "axis {} is added twice", given);
    is_new[axis] = true;
  }
  Shape y;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) y.push_back(is_new[axis] ? Dim(1) : x[next++]);
  return y;
}

Shape flattened_shape(OpContext& context) {
  const Shape& x = context.shape(0);
  const std::int64_t axis = context.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(x.size());
  if (axis < -rank || axis > rank) fail(ErrorKind::input, "axis {} of {} axes", axis, rank);
  const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  const std::span<const Dim> extents = x;
  return {elements_of(Shape(extents.first(split)), context.symbols()),
          elements_of(Shape(extents.subspan(split)), context.symbols())};
}

Slice slice_of(OpContext& context) {
  const auto list = [&](std::size_t input, std::string_view name) -> std::vector<Dim> {
    if (context.has(input)) return context.dims(input, name);
    const auto attribute = context.integers(name);  // opset 1 to 9
    return attribute ? std::vector<Dim>(attribute->begin(), attribute->end()) : std::vector<Dim>();
  };
  const std::vector<Dim> starts = list(1, "starts");
  const std::vector<Dim> ends = list(2, "ends");
  const std::vector<Dim> axes = list(3, "axes");
  const std::vector<Dim> steps = list(4, "steps");
  const std::size_t count = starts.size();
  if (ends.size() != count || (!axes.empty() && axes.size() != count) ||
      (!steps.empty() && steps.size() != count)) {
    fail(ErrorKind::input, "{} starts, {} ends, {} axes and {} steps", count, ends.size(),
         axes.size(), steps.size());
  }
  const Shape& x = context.shape(0);
  // A negative symbolic position (−seq) counts from the end like any negative one.
  const auto position = [&](Dim at, Dim extent) -> Dim {
    if (!at.is_number()) return at.factor < 0 ? context.symbols().add(extent, at) : at;
    if (at.factor >= beyond_any_extent) return to_the_end;
    return std::max(at.factor, -to_the_end);
  };
  Slice slice;
  for (std::size_t i = 0; i < count; ++i) {
    const Dim axis = axes.empty() ? Dim(static_cast<std::int64_t>(i)) : axes[i];
    const Dim step = steps.empty() ? Dim(1) : steps[i];
    if (!axis.is_number() || !step.is_number()) {
      fail(ErrorKind::unsupported, "a slice whose axes or steps are not numbers");
    }
    const Dim extent = x[normal_axis(axis.factor, x.size())];
    const Dim begin = position(starts[i], extent);
    const Dim end = position(ends[i], extent);
    const bool takes_all = step.is(1) && begin.is(0) && (end.is(to_the_end) || end == extent);
    if (takes_all) continue;
    const bool is_far_back =
        step.factor > 0 && begin.is_number() && begin.factor <= -beyond_any_extent;
    slice.axes.push_back(axis.factor);
    slice.begin.push_back(is_far_back ? Dim(0) : begin);
    slice.end.push_back(end);
    slice.step.push_back(step.factor);
  }
  return slice;
}

std::vector<std::int64_t> split_sizes(OpContext& context, std::size_t axis) {
  std::vector<std::int64_t> sizes;
  if (context.has(1) && context.numbers(1) == nullptr) {
    sizes = declared_split_sizes(context, axis);
  } else if (context.has(1)) {
    sizes = context.whole_numbers(1, "the sizes of the parts");
  } else if (const auto attribute = context.integers("split")) {
    sizes = *attribute;
  }
  const Dim whole = context.shape(0)[axis];
  const auto parts = static_cast<std::int64_t>(context.output_count());
  if (parts == 0) fail(ErrorKind::input, "a split without outputs");
  if (!sizes.empty() || !whole.is_number() || whole.factor % parts == 0) return sizes;
  // Opset 18: the last part may be smaller.
  const std::int64_t part = (whole.factor + parts - 1) / parts;
  sizes.assign(static_cast<std::size_t>(parts), part);
  sizes.back() = whole.factor - part * (parts - 1);
  return sizes;
}

Axes permutation_of(OpContext& context) {
  const std::size_t rank = context.rank(0);
  Axes permutation;
  if (const auto written = context.integers("perm"); written && !written->empty()) {
    if (written->size() != rank) {
      fail(ErrorKind::input, "the permutation has {} entries for {} axes", written->size(), rank);
    }
    std::array<bool, most_axes> is_taken{};
    for (const std::int64_t given : *written) {
      const std::size_t axis = normal_axis(given, rank);
      if (is_taken[axis]) fail(ErrorKind::input, "the permutation names axis {} twice", given);
      is_taken[axis] = true;
      permutation.push_back(static_cast<std::int64_t>(axis));
    }
    return permutation;
  }
  for (std::size_t axis = rank; axis-- > 0;) permutation.push_back(static_cast<std::int64_t>(axis));
  return permutation;
}

}  // namespace strata::onnx
