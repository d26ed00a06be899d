// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/printed_points.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

Figure made_up_figure() {
  chart::Chart left{.title = "left", .x = {.title = "x"}, .y = {.title = "time"}};
  left.series = {{.name = "ours", .points = {{1, 2, ""}, {3, 4, ""}}}};
  chart::Chart right = left;
  right.title = "right";
  return {.name = "made-up", .csv = "", .grid = {.title = "Made up", .panels = {left, right}}};
}

Finding printed(PrintedPoint point) {
  Finding finding;
  finding.drawn = {std::move(point)};
  return finding;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PrintedPoints, are_open_marks_with_a_legend_in_the_panel_that_is_meant) {
  std::vector<Figure> figures = {made_up_figure()};
  const std::string before = chart::to_svg(figures.front().grid);
  EXPECT_EQ(before.find("printed in the paper"), std::string::npos);
  const Finding findings[] = {
      printed({.figure = "made-up", .panel = "right", .x = 1, .y = 6, .label = "6 ms"}),
      printed({.figure = "made-up", .panel = "right", .x = 3, .y = 5, .label = "5 ms"})};
  draw_printed_points(findings, figures);
  EXPECT_EQ(figures.front().grid.panels[0].series.size(), 1U);
  ASSERT_EQ(figures.front().grid.panels[1].series.size(), 2U);
  const chart::Series& series = figures.front().grid.panels[1].series[1];
  EXPECT_FALSE(series.is_filled);
  EXPECT_EQ(series.points.size(), 2U);
  const std::string svg = chart::to_svg(figures.front().grid);
  EXPECT_NE(svg.find("printed in the paper</text>"), std::string::npos) << "the legend";
  EXPECT_EQ(count_of(svg, "printed in the paper, 6 ms"), 1U) << "when pointed at";
  EXPECT_EQ(count_of(svg, "open s6"), 3U) << "two points and the legend's";
}

TEST(PrintedPoints, one_number_for_many_is_a_line_that_says_so) {
  std::vector<Figure> figures = {made_up_figure()};
  const Finding findings[] = {
      printed({.figure = "made-up", .x = {}, .y = 9, .label = "9 ms on average"})};
  draw_printed_points(findings, figures);
  const std::string svg = chart::to_svg(figures.front().grid);
  EXPECT_EQ(count_of(svg, "printed in the paper: 9 ms on average"), 2U) << "in both panels";
}

TEST(PrintedPoints, find_a_panel_by_its_axis_and_leave_out_what_was_not_measured) {
  std::vector<Figure> figures = {made_up_figure()};
  const Finding findings[] = {printed({.figure = "made-up", .panel = "time", .x = 1, .y = 1}),
                              printed({.figure = "made-up", .panel = "absent", .x = 1, .y = 1}),
                              printed({.figure = "absent", .x = 1, .y = 1})};
  draw_printed_points(findings, figures);
  for (const chart::Chart& panel : figures.front().grid.panels) {
    ASSERT_EQ(panel.series.size(), 2U);
    EXPECT_EQ(panel.series.back().points.size(), 1U);
  }
}

}  // namespace
}  // namespace strata
