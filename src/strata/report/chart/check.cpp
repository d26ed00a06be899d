// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/report/chart/panel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace strata::chart {
namespace {

void check_number(const Chart& chart, const Axis& axis, double value, std::string_view what) {
  if (!std::isfinite(value)) {
    fail(ErrorKind::input, "chart '{}': {} has a number that is not finite", chart.title, what);
  }
  if (axis.scale == ScaleKind::logarithmic && value <= 0) {
    fail(ErrorKind::input, "chart '{}': {} has {}, which a logarithmic axis cannot show",
         chart.title, what, value);
  }
}

void check_axis(const Chart& chart, const Axis& axis, std::string_view what) {
  if (axis.least) check_number(chart, axis, *axis.least, what);
  if (axis.most) check_number(chart, axis, *axis.most, what);
  if (axis.least && axis.most && *axis.least >= *axis.most) {
    fail(ErrorKind::input, "chart '{}': {} ends at {}, before it begins at {}", chart.title, what,
         *axis.most, *axis.least);
  }
}

void check_bars(const Chart& chart) {
  for (const Bars& bars : chart.bars) {
    if (bars.values.size() != chart.x.categories.size()) {
      fail(ErrorKind::input, "chart '{}': '{}' has {} bars for {} categories", chart.title,
           bars.name, bars.values.size(), chart.x.categories.size());
    }
    for (const double value : bars.values) {
      if (!std::isfinite(value)) {
        fail(ErrorKind::input, "chart '{}': '{}' has a number that is not finite", chart.title,
             bars.name);
      }
    }
  }
  if (!chart.bars.empty() && chart.y.scale == ScaleKind::logarithmic) {
    fail(ErrorKind::input, "chart '{}': bars begin at 0, which a logarithmic axis cannot show",
         chart.title);
  }
}

/// Numbers as they come, then what they span.
struct Span {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  Range range(const Chart& chart, const Axis& axis, std::string_view name) const {
    const Range found{axis.least.value_or(least), axis.most.value_or(most)};
    if (!std::isfinite(found.least) || !std::isfinite(found.most)) {
      fail(ErrorKind::input, "chart '{}': nothing to draw along {}", chart.title, name);
    }
    return {std::min(found.least, found.most), std::max(found.least, found.most)};
  }
};

}  // namespace

void check(const Chart& chart) {
  check_ring(chart);
  check_axis(chart, chart.x, "the x axis");
  check_axis(chart, chart.y, "the y axis");
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      check_number(chart, chart.x, point.x, series.name);
      check_number(chart, chart.y, point.y, series.name);
    }
  }
  check_bars(chart);
  for (const ReferenceLine& line : chart.lines) {
    const bool is_vertical = line.direction == Direction::vertical;
    check_number(chart, is_vertical ? chart.x : chart.y, line.at, line.label);
    const Axis& along = is_vertical ? chart.y : chart.x;
    if (line.from) check_number(chart, along, *line.from, line.label);
    if (line.to) check_number(chart, along, *line.to, line.label);
  }
  for (const Band& band : chart.bands) {
    for (const auto& edge : {band.x_from, band.x_to}) {
      if (edge) check_number(chart, chart.x, *edge, band.label);
    }
    for (const auto& edge : {band.y_from, band.y_to}) {
      if (edge) check_number(chart, chart.y, *edge, band.label);
    }
    if (band.shade && !std::isfinite(*band.shade)) {
      fail(ErrorKind::input, "chart '{}': a shade is not finite", chart.title);
    }
  }
}

Range x_range(const Chart& chart) {
  if (!chart.x.categories.empty()) {
    return {-0.5, static_cast<double>(chart.x.categories.size()) - 0.5};
  }
  Span span;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) span.add(point.x);
  }
  for (const ReferenceLine& line : chart.lines) {
    if (line.direction == Direction::vertical) span.add(line.at);
  }
  for (const Band& band : chart.bands) {
    if (band.x_from) span.add(*band.x_from);
    if (band.x_to) span.add(*band.x_to);
  }
  return span.range(chart, chart.x, "x");
}

Range y_range(const Chart& chart) {
  Span span;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) span.add(point.y);
  }
  if (!chart.bars.empty()) span.add(0);
  for (std::size_t i = 0; i < chart.x.categories.size(); ++i) {
    double above = 0;  // stacked bars grow away from 0 on both sides
    double below = 0;
    for (const Bars& bars : chart.bars) {
      const double value = bars.values[i];
      if (chart.bar_layout == BarLayout::grouped) span.add(value);
      (value > 0 ? above : below) += value;
    }
    if (chart.bar_layout == BarLayout::stacked && !chart.bars.empty()) {
      span.add(above);
      span.add(below);
    }
  }
  for (const ReferenceLine& line : chart.lines) {
    if (line.direction == Direction::horizontal) span.add(line.at);
  }
  for (const Band& band : chart.bands) {
    if (band.y_from) span.add(*band.y_from);
    if (band.y_to) span.add(*band.y_to);
  }
  return span.range(chart, chart.y, "y");
}

}  // namespace strata::chart
