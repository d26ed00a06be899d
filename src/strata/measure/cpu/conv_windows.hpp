// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/node_context.hpp"

#include <array>

namespace strata::cpu_training {

/// A convolution in up to three spatial axes, seen from the side of its two tensors: `large` [N, C,
/// …], of which windows are taken, and `small` [N, K, …] with one number per window. A transposed
/// convolution has them the other way round. Weights are [K, C/groups, kernel]. Missing axes come
/// first and have extent 1.
struct ConvWindows {
  std::int64_t batch = 1, large_channels = 1, small_channels = 1, groups = 1;
  std::array<std::int64_t, 3> large{1, 1, 1}, small{1, 1, 1};
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};

  ConvWindows(const Convolution& op, const NodeContext& context);

  std::int64_t large_space() const { return large[0] * large[1] * large[2]; }
  std::int64_t small_space() const { return small[0] * small[1] * small[2]; }
  std::int64_t kernel_space() const { return kernel[0] * kernel[1] * kernel[2]; }
};

/// The value of an optional attribute along an axis.
inline std::int64_t extent_or(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

inline ConvWindows::ConvWindows(const Convolution& op, const NodeContext& context)
    : groups(op.groups) {
  const BoundTensor& of_large = op.transposed ? context.output() : context.input();
  const BoundTensor& of_small = op.transposed ? context.input() : context.output();
  batch = of_large[0];
  large_channels = of_large[1];
  small_channels = of_small[1];
  const std::size_t missing = 3 - op.kernel.size();
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    large[i + missing] = of_large[i + 2];
    small[i + missing] = of_small[i + 2];
    kernel[i + missing] = op.kernel[i];
    stride[i + missing] = extent_or(op.stride, i, 1);
    dilation[i + missing] = extent_or(op.dilation, i, 1);
    pad[i + missing] = extent_or(op.pad_begin, i, 0);
  }
}

}  // namespace strata::cpu_training
