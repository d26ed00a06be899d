// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/axis_scale.hpp"

#include "strata/report/chart/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::chart {
namespace {

constexpr double room_along_x = 14;  // pixels between two labels
constexpr double room_along_y = 26;

bool have_room(const Ticks& ticks, const AxisScale& scale, Orientation orientation) {
  for (std::size_t i = 1; i < ticks.values.size(); ++i) {
    const double apart = std::fabs(scale.at(ticks.values[i]) - scale.at(ticks.values[i - 1]));
    const double needed = orientation == Orientation::along_y
                              ? room_along_y
                              : (text_width(ticks.labels[i], tick_text_size) +
                                 text_width(ticks.labels[i - 1], tick_text_size)) /
                                        2 +
                                    room_along_x;
    if (apart < needed) return false;
  }
  return true;
}

/// An axis without length would divide by zero: a little room around the one value.
Range widened(Range data, ScaleKind kind) {
  if (data.most > data.least) return data;
  if (kind == ScaleKind::logarithmic) return {data.least / 2, data.most * 2};
  const double room = data.least == 0 ? 1 : std::fabs(data.least) / 2;
  return {data.least - room, data.most + room};
}

}  // namespace

AxisScale::AxisScale(ScaleKind kind, Range range, double from_pixel, double to_pixel)
    : kind_(kind), range_(range), from_pixel_(from_pixel), to_pixel_(to_pixel) {}

double AxisScale::at(double value) const {
  const double part = kind_ == ScaleKind::linear
                          ? (value - range_.least) / (range_.most - range_.least)
                          : std::log(value / range_.least) / std::log(range_.most / range_.least);
  return from_pixel_ + part * (to_pixel_ - from_pixel_);
}

ScaledAxis scaled(const Axis& axis, Range data, double from_pixel, double to_pixel,
                  Orientation orientation) {
  if (axis.from_zero && axis.scale == ScaleKind::linear) {
    data = {std::min(data.least, 0.0), std::max(data.most, 0.0)};
  }
  data = {axis.least.value_or(data.least), axis.most.value_or(data.most)};
  data = widened(data, axis.scale);
  const double length = std::fabs(to_pixel - from_pixel);
  std::size_t most_ticks =
      static_cast<std::size_t>(length / (orientation == Orientation::along_x ? 40 : 34)) + 1;
  while (true) {
    const Range range = rounded_out(data, axis, most_ticks);
    AxisScale scale(axis.scale, range, from_pixel, to_pixel);
    Ticks ticks = axis.scale == ScaleKind::linear ? linear_ticks(range, most_ticks, axis.quantity)
                                                  : log_ticks(range, most_ticks, axis.quantity);
    if (most_ticks <= 2 || have_room(ticks, scale, orientation)) {
      std::string title = axis.title;
      if (!ticks.unit.empty()) title += fmt::format("{}({})", title.empty() ? "" : " ", ticks.unit);
      return {.scale = scale, .ticks = std::move(ticks), .title = std::move(title)};
    }
    --most_ticks;
  }
}

}  // namespace strata::chart
