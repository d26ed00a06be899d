// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/printed_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace strata {
namespace {

void draw_printed_point(const PrintedPoint& printed, chart::Chart& panel) {
  if (!printed.x) {
    panel.lines.push_back({.direction = chart::Direction::horizontal,
                           .at = printed.y,
                           .label = fmt::format("{}: {}", printed_in_paper, printed.label),
                           .stroke = chart::Stroke::dotted});
    return;
  }
  auto& all = panel.series;
  auto series = std::find_if(all.begin(), all.end(), [](const chart::Series& each) {
    return each.name == printed_in_paper;
  });
  if (series == all.end()) series = all.insert(all.end(), printed_series());
  series->points.push_back({.x = *printed.x,
                            .y = printed.y,
                            .label = {},
                            .hint = fmt::format("{}, {}", printed_in_paper, printed.label)});
}

}  // namespace

chart::Series printed_series() {
  constexpr chart::Color ink = 6;  // black, or white on dark paper
  return {.name = std::string(printed_in_paper),
          .points = {},
          .color = ink,
          .stroke = chart::Stroke::none,
          .marker = chart::Marker::diamond,
          .is_filled = false,
          .marker_scale = 1.4};
}

void draw_printed_points(std::span<const Finding> findings, std::vector<Figure>& figures) {
  for (const Finding& finding : findings) {
    for (const PrintedPoint& printed : finding.drawn) {
      for (Figure& figure : figures) {
        if (figure.name != printed.figure) continue;
        for (chart::Chart& panel : figure.grid.panels) {
          const bool is_meant = printed.panel.empty() || printed.panel == panel.title ||
                                printed.panel == panel.y.title;
          if (is_meant) draw_printed_point(printed, panel);
        }
      }
    }
  }
}

}  // namespace strata
