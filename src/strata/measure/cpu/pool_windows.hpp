// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/conv_windows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace strata::cpu_training {

inline constexpr std::size_t pool_axes = 3;  ///< of space; missing ones come first, of extent 1

/// The windows of a pooling node. Each of the N·C planes is pooled on its own. Along an axis output
/// o takes in places begin(o), begin(o) + dilation, …, as many as its kernel has; those outside the
/// plane are padding.
struct PoolWindows {
  std::int64_t planes = 0;
  std::array<std::int64_t, pool_axes> in{1, 1, 1}, out{1, 1, 1};
  std::array<std::int64_t, pool_axes> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{};
  bool is_maximum = true;
  bool is_adaptive = false;  ///< windows differ in size
  bool counts_padding = false;

  PoolWindows(const Pool& op, const NodeContext& context)
      : is_maximum(op.kind == PoolKind::maximum), counts_padding(op.count_include_pad) {
    take_extents(context);
    const std::size_t missing = pool_axes - op.kernel.size();
    for (std::size_t i = 0; i < op.kernel.size(); ++i) {
      kernel[i + missing] = op.kernel[i];
      stride[i + missing] = extent_or(op.stride, i, 1);
      dilation[i + missing] = extent_or(op.dilation, i, 1);
      pad[i + missing] = extent_or(op.pad_begin, i, 0);
    }
  }

  /// An adaptive pool whose outputs divide its inputs has windows of one size.
  PoolWindows(const AdaptivePool& op, const NodeContext& context)
      : is_maximum(op.kind == PoolKind::maximum) {
    take_extents(context);
    for (std::size_t axis = 0; axis < pool_axes; ++axis) {
      is_adaptive = is_adaptive || in[axis] % out[axis] != 0;
      kernel[axis] = stride[axis] = in[axis] / out[axis];
    }
  }

  std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  bool changes_nothing() const { return in == out && kernel[0] * kernel[1] * kernel[2] == 1; }

  std::int64_t begin(std::size_t axis, std::int64_t o) const {
    return is_adaptive ? o * in[axis] / out[axis] : o * stride[axis] - pad[axis];
  }
  std::int64_t size(std::size_t axis, std::int64_t o) const {
    if (!is_adaptive) return kernel[axis];
    return ((o + 1) * in[axis] + out[axis] - 1) / out[axis] - begin(axis, o);
  }

 private:
  void take_extents(const NodeContext& context) {
    planes = context.input()[0] * context.input()[1];
    const std::size_t missing = pool_axes - (context.input().axes() - 2);
    for (std::size_t axis = missing; axis < pool_axes; ++axis) {
      in[axis] = context.input()[axis - missing + 2];
      out[axis] = context.output()[axis - missing + 2];
    }
  }
};

}  // namespace strata::cpu_training
