// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/axis.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The points of a sweep: every combination of the values of its axes, numbered. A point is only
/// its number; the first axis changes slowest, the last fastest.
namespace strata {

class Grid {
 public:
  /// Errors (usage): more points than anybody can wait for.
  explicit Grid(std::vector<Axis> axes);

  const std::vector<Axis>& axes() const { return axes_; }
  std::int64_t size() const { return size_; }
  /// Which value of an axis a point has.
  std::int64_t index_of(std::int64_t point, std::size_t axis) const {
    return point / stride_[axis] % axes_[axis].size();
  }
  /// How many points in a row have the same values of the axes before `axis`.
  std::int64_t points_behind(std::size_t axis) const {
    return axis < stride_.size() ? stride_[axis] * axes_[axis].size() : 1;
  }

 private:
  std::vector<Axis> axes_;
  std::vector<std::int64_t> stride_;
  std::int64_t size_ = 1;
};

inline constexpr std::int64_t most_points = 10'000'000'000;

}  // namespace strata
