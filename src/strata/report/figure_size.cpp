// SPDX-License-Identifier: Apache-2.0
#include "strata/report/figure_size.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace strata {
namespace {

constexpr double points_per_inch = 72;
constexpr double font_px = 11;  // of most words in a chart
constexpr double narrowest_px = 240;
constexpr double widest_px = 10'000;
constexpr double px_of_two_columns = 560;  // a panel needs some 280 for its axes and data

std::optional<double> number_before(std::string_view text, std::string_view unit) {
  const std::string_view number = trimmed(text.substr(0, text.size() - unit.size()));
  double value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool is_whole = problem == std::errc() && end == number.data() + number.size();
  return is_whole && value > 0 && value < 1e6 ? std::optional(value) : std::nullopt;
}

}  // namespace

FigureSize parse_figure_size(std::string_view width, std::optional<std::string_view> font_size) {
  constexpr std::array<std::pair<std::string_view, double>, 5> units = {
      {{"in", points_per_inch},
       {"mm", points_per_inch / 25.4},
       {"cm", points_per_inch / 2.54},
       {"pt", 1},
       {"px", points_per_inch / 96}}};
  FigureSize size;
  const std::string text = lower_case(trimmed(width));
  for (const auto& [unit, points] : units) {
    if (!text.ends_with(unit)) continue;
    if (const auto number = number_before(text, unit)) size.width_pt = *number * points;
  }
  if (size.width_pt == 0)
    fail(ErrorKind::usage,
         "--width expects a length like 3.3in, 85mm, 8.5cm, 240pt or 900px, got '{}'", width);
  if (font_size) {
    const std::string points = lower_case(trimmed(*font_size));
    const auto number = number_before(points, points.ends_with("pt") ? "pt" : "");
    if (!number || *number < 2 || *number > 100)
      fail(ErrorKind::usage, "--font-size expects points from 2 to 100, as 8, got '{}'",
           *font_size);
    size.font_pt = *number;
  }
  const double pixels = size.width_pt * font_px / size.font_pt;
  if (pixels < narrowest_px || pixels > widest_px)
    fail(ErrorKind::usage,
         "--width {} with words of {:g} points is {} for a figure: {:g} times as wide as its words "
         "are high, where {:g} to {:g} can be drawn",
         width, size.font_pt, pixels < narrowest_px ? "too narrow" : "too wide", pixels / font_px,
         narrowest_px / font_px, widest_px / font_px);
  return size;
}

void fit(chart::ChartGrid& grid, const FigureSize& size) {
  const double pixels = size.width_pt * font_px / size.font_pt;
  const double share = pixels / grid.width;
  // A narrow figure stays legible: its plots lose less height than width.
  constexpr double least_height = 110;
  grid.plot_height = std::max(least_height, grid.plot_height * std::min(1.0, 0.4 + 0.6 * share));
  grid.width = pixels;
  grid.width_pt = size.width_pt;
  if (pixels < px_of_two_columns) grid.columns = 1;
}

}  // namespace strata
