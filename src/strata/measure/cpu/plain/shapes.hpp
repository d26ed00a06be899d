// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

#include <cstdint>

/// Shapes of tensors, and where their elements lie.
namespace strata::cpu_training::plain {

using Sizes = InlineVector<std::int64_t, most_axes>;

inline std::int64_t product_of(const Sizes& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

/// How far apart neighbours along each axis lie, in elements, of a dense tensor.
inline Sizes strides_of(const Sizes& shape) {
  Sizes strides = shape;
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

/// The same for a tensor that is broadcast to `to`: 0 along repeated axes.
inline Sizes broadcast_strides(const Sizes& shape, const Sizes& to) {
  const Sizes own = strides_of(shape);
  const std::size_t missing = to.size() - shape.size();
  Sizes strides;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const bool is_repeated = axis < missing || shape[axis - missing] == 1;
    strides.push_back(is_repeated ? 0 : own[axis - missing]);
  }
  return strides;
}

/// Where the element with this row-major index of a shape lies in a tensor with these strides.
inline std::int64_t offset_of(std::int64_t index, const Sizes& shape, const Sizes& strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    offset += index % shape[axis] * strides[axis];
    index /= shape[axis];
  }
  return offset;
}

/// The stride along a row.
inline std::int64_t last_stride(const Sizes& strides) {
  return strides.empty() ? 0 : strides.back();
}

/// A tensor as rows along one axis: [outer, length, inner]; numbers of a row lie `inner` apart.
struct AxisRows {
  std::int64_t outer = 1, length = 1, inner = 1;

  AxisRows(const BoundTensor& x, std::int64_t axis) {
    const std::size_t along = normal_axis(axis, x.axes());
    for (std::size_t i = 0; i < x.axes(); ++i) {
      (i < along ? outer : i == along ? length : inner) *= x[i];
    }
  }
  std::int64_t count() const { return outer * inner; }
  std::int64_t first(std::int64_t row) const { return row / inner * length * inner + row % inner; }
};

}  // namespace strata::cpu_training::plain
