// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/setting.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace strata::cpu_training {

inline constexpr std::size_t pool_axes = 3;  // of space; missing ones are of extent 1

/// Pooling of planes: each of N·C is pooled on its own. Along an axis output o takes in places
/// begin(o), begin(o) + dilation, … of which taps(o) are looked at; those outside are padding.
struct PoolPlan {
  std::int64_t planes = 0;
  std::array<std::int64_t, pool_axes> in{1, 1, 1}, out{1, 1, 1};
  std::array<std::int64_t, pool_axes> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{};
  bool is_adaptive = false;
  bool is_maximum = true;
  bool counts_padding = false;
  bool is_beyond = false;  // the tensor that is pooled is larger than the caches

  std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }

  std::int64_t in_rows() const { return in[0] * in[1]; }
  std::int64_t out_rows() const { return out[0] * out[1]; }
  std::int64_t window() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// How wide a row is with its padding, as far as windows reach.
  std::int64_t padded_width() const {
    return std::max(in[2] + pad[2], (out[2] - 1) * stride[2] + (kernel[2] - 1) * dilation[2] + 1);
  }

  std::int64_t begin(std::size_t axis, std::int64_t o) const {
    return is_adaptive ? o * in[axis] / out[axis] : o * stride[axis] - pad[axis];
  }
  std::int64_t taps(std::size_t axis, std::int64_t o) const {
    if (!is_adaptive) return kernel[axis];
    return ((o + 1) * in[axis] + out[axis] - 1) / out[axis] - begin(axis, o);
  }
  /// The taps first … last that lie inside.
  struct Range {
    std::int64_t first, last;
    std::int64_t count() const { return std::max<std::int64_t>(0, last - first); }
  };
  Range inside(std::size_t axis, std::int64_t o) const {
    const std::int64_t from = begin(axis, o), step = dilation[axis];
    const std::int64_t first = from < 0 ? (-from + step - 1) / step : 0;
    const std::int64_t last = from >= in[axis] ? 0 : (in[axis] - 1 - from) / step + 1;
    return {first, std::min(last, taps(axis, o))};
  }
};

/// Calls f(place in the plane of the first number of a row, which row of the window it is) for the
/// rows that an output row (z, y) takes in.
template <class F>
void each_input_row(const PoolPlan& plan, std::int64_t z, std::int64_t y, const F& f) {
  const PoolPlan::Range deep = plan.inside(0, z), high = plan.inside(1, y);
  for (std::int64_t kz = deep.first; kz < deep.last; ++kz) {
    for (std::int64_t ky = high.first; ky < high.last; ++ky) {
      const std::int64_t iz = plan.begin(0, z) + kz * plan.dilation[0];
      const std::int64_t iy = plan.begin(1, y) + ky * plan.dilation[1];
      f((iz * plan.in[1] + iy) * plan.in[2], kz * plan.kernel[1] + ky);
    }
  }
}

/// Calls f(begin, end) for planes, on all threads.
template <class F>
void each_planes(const PoolPlan& plan, const Workers& workers, const F& f) {
  workers.ranges(plan.planes, std::max<std::int64_t>(1, numbers_per_part / plan.in_plane()), f);
}

/// Max pooling with windows of one size. Forward leaves in `saved` which tap of its window each
/// maximum is: one byte while that is enough, else four.
std::int64_t bytes_per_tap(const PoolPlan& plan);
template <class T>
void max_pool_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);
template <class T>
void max_pool_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);

/// Average pooling with windows of one size.
template <class T>
void average_pool_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);
template <class T>
void average_pool_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m);

}  // namespace strata::cpu_training
