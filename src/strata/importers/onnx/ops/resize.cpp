// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <array>
#include <cmath>

namespace strata::onnx {
namespace {

/// The result of a resize per axis: its extent, and its whole factor where there is one.
struct Target {
  Shape shape;
  std::vector<std::int64_t> factors;  ///< 0: not a whole number
};

ResizeKind kind_of(OpContext& context) {
  const std::string_view mode = context.word("mode", "nearest");
  if (mode == "linear" || mode == "bilinear") return ResizeKind::linear;
  return mode == "cubic" ? ResizeKind::cubic : ResizeKind::nearest;
}

// Axes that sizes and scales speak of; opset 18 may name them.
std::vector<std::size_t> named_axes(OpContext& context, std::size_t count) {
  const std::size_t rank = context.rank(0);
  std::vector<std::size_t> axes;
  if (const auto written = context.integers("axes")) {
    for (const std::int64_t axis : *written) axes.push_back(normal_axis(axis, rank));
  } else {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (axes.size() != count) {
    fail(ErrorKind::input, "{} scales or sizes for {} axes", count, axes.size());
  }
  return axes;
}

void scale_axis(OpContext& context, Target& target, std::size_t axis, double scale) {
  Dim& extent = target.shape[axis];
  constexpr double largest = 1e6;  // and its inverse the smallest: far beyond any image
  if (!(scale >= 1 / largest) || scale > largest) fail(ErrorKind::input, "a scale of {}", scale);
  if (std::trunc(scale) == scale) {
    target.factors[axis] = static_cast<std::int64_t>(scale);
    extent = context.symbols().multiply(extent, target.factors[axis]);
    return;
  }
  target.factors[axis] = 0;
  if (extent.is_number()) {
    // Scales are stored as 32-bit numbers: 7 × (11/7) must not fall below 11.
    const double exact = static_cast<double>(extent.factor) * scale;
    if (!(exact < 9e15)) fail(ErrorKind::input, "a scale of {}", scale);
    extent = static_cast<std::int64_t>(std::floor(exact * (1 + 1e-7)));
    return;
  }
  const double inverse = std::round(1 / scale);
  if (std::abs(inverse * scale - 1) > 1e-6) {
    fail(ErrorKind::unsupported, "{} scaled by {}", context.symbols().text(extent), scale);
  }
  extent = context.symbols().divide_floor(extent, static_cast<std::int64_t>(inverse));
}

void resize_axis(OpContext& context, Target& target, std::size_t axis, Dim size) {
  Dim& extent = target.shape[axis];
  if (extent == size) return;
  // 2·height of height is a factor; 28 of 14 is as well a size.
  const std::optional<Dim> factor =
      extent.is_number() ? std::nullopt : context.symbols().divide_exactly(size, extent);
  target.factors[axis] = factor && factor->is_number() ? factor->factor : 0;
  extent = size;
}

// Where scales and sizes are computed from data, the file may still say the result.
Target declared_target(OpContext& context, Target target) {
  const std::optional<TensorType> declared = context.declared_type(0);
  if (!declared || declared->shape.size() != target.shape.size()) {
    fail(ErrorKind::unsupported, "scales and sizes are not known before the network runs");
  }
  for (std::size_t axis = 0; axis < target.shape.size(); ++axis) {
    resize_axis(context, target, axis, declared->shape[axis]);
  }
  return target;
}

Target target_of(OpContext& context) {
  Target target{context.shape(0), std::vector<std::int64_t>(context.rank(0), 1)};
  const std::size_t scales = context.op() == "Upsample" || context.opset() == 10 ? 1 : 2;
  const std::size_t sizes = 3;
  const KnownNumbers written = context.numbers(scales);
  if (written != nullptr && !written->empty()) {
    const std::vector<std::size_t> axes = named_axes(context, written->size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (!(*written)[i].is_plain()) fail(ErrorKind::unsupported, "a scale that is not a number");
      scale_axis(context, target, axes[i], (*written)[i].value());
    }
    return target;
  }
  if (context.numbers(sizes) != nullptr) {
    const std::vector<Dim> dims = context.dims(sizes, "the sizes");
    const std::vector<std::size_t> axes = named_axes(context, dims.size());
    for (std::size_t i = 0; i < axes.size(); ++i) resize_axis(context, target, axes[i], dims[i]);
    return target;
  }
  const std::vector<float> attribute = context.reals("scales");  // Upsample, opset 7
  if (attribute.empty()) return declared_target(context, std::move(target));
  const std::vector<std::size_t> axes = named_axes(context, attribute.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    scale_axis(context, target, axes[i], static_cast<double>(attribute[i]));
  }
  return target;
}

void lower_resize(OpContext& context) {
  const Target target = target_of(context);
  const Shape x = context.shape(0);
  expect_not_empty(target.shape, context.symbols());
  if (target.shape == x) return context.pass_on(0, 0);
  const bool keeps_channels =
      x.size() >= 3 && x.size() <= 5 && target.shape[0] == x[0] && target.shape[1] == x[1];
  Resize by_factor{kind_of(context), {}, {}};
  Resize to_extent{kind_of(context), {}, {}};
  bool has_factors = true;
  bool has_extents = true;
  for (std::size_t axis = 2; keeps_channels && axis < x.size(); ++axis) {
    has_factors = has_factors && target.factors[axis] > 0;
    has_extents = has_extents && target.shape[axis].is_number();
    by_factor.scale.push_back(target.factors[axis]);
    to_extent.output.push_back(target.shape[axis].factor);
  }
  if (!keeps_channels || (!has_factors && !has_extents)) {
    set_uncounted(context, {{target.shape, context.dtype(0)}});
    return;
  }
  context.set(0, context.add(has_factors ? by_factor : to_extent, {context.tensor(0)}));
}

constexpr std::array resize_rows = {
    OpRow{"Resize", lower_resize},
    OpRow{"Upsample", lower_resize},
};

}  // namespace

std::span<const OpRow> resize_ops() { return resize_rows; }

}  // namespace strata::onnx
