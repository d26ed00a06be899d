// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"

#include <optional>
#include <string_view>

namespace strata {

/// How large a figure is on paper, and how large its words are there.
struct FigureSize {
  double width_pt = 0;
  double font_pt = 8;  ///< as captions of most journals have it
};

/// From "3.3in", "85mm", "8.5cm", "240pt" or "900px" (96 to an inch) and a number of points. Errors
/// (usage) name the flag.
FigureSize parse_figure_size(std::string_view width, std::optional<std::string_view> font_size);

/// Lays the figure out anew for that size: words keep theirs, and everything else gets the room
/// that is left. Narrow figures have their panels below each other.
void fit(chart::ChartGrid& grid, const FigureSize& size);

}  // namespace strata
