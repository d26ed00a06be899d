// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/ticks.hpp"

namespace strata::chart {

/// From numbers to pixels along one axis.
class AxisScale {
 public:
  AxisScale(ScaleKind kind, Range range, double from_pixel, double to_pixel);

  double at(double value) const;
  const Range& range() const { return range_; }
  bool holds(double value) const { return value >= range_.least && value <= range_.most; }

 private:
  ScaleKind kind_;
  Range range_;
  double from_pixel_;
  double to_pixel_;
};

struct ScaledAxis {
  AxisScale scale;
  Ticks ticks;
  std::string title;  ///< with the unit that the labels share
};

enum class Orientation : std::uint8_t { along_x, along_y };

/// Chooses as many ticks as have room for their labels.
ScaledAxis scaled(const Axis& axis, Range data, double from_pixel, double to_pixel,
                  Orientation orientation);

inline constexpr double tick_text_size = 11;

}  // namespace strata::chart
