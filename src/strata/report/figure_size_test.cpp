// SPDX-License-Identifier: Apache-2.0
#include "strata/report/figure_size.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

chart::ChartGrid two_panels() {
  const chart::Chart panel{.title = "panel",
                           .x = {.title = "x"},
                           .y = {.title = "y"},
                           .series = {{.name = "s", .points = {{1, 1, ""}, {2, 3, ""}}}}};
  return {.title = "Both", .subtitle = "", .panels = {panel, panel}};
}

TEST(FigureSize, lengths_are_known_in_the_units_of_papers) {
  EXPECT_DOUBLE_EQ(parse_figure_size("3.3in", {}).width_pt, 237.6);
  EXPECT_NEAR(parse_figure_size("85mm", {}).width_pt, 240.94, 0.01);
  EXPECT_NEAR(parse_figure_size("8.5 CM", {}).width_pt, 240.94, 0.01);
  EXPECT_DOUBLE_EQ(parse_figure_size("240pt", "7").width_pt, 240);
  EXPECT_DOUBLE_EQ(parse_figure_size("960px", "9pt").font_pt, 9);
  for (const char* wrong : {"3.3", "in", "-3in", "3.3inch", "", "1e9in", "0.1in"})
    EXPECT_THROW(parse_figure_size(wrong, {}), Error) << wrong;
  for (const char* wrong : {"", "0", "big", "1000"})
    EXPECT_THROW(parse_figure_size("3.3in", wrong), Error) << wrong;
}

// 11 px of the drawing are 8 points on paper: 237.6 points are 326.7 px.
TEST(FigureSize, words_have_their_size_on_paper) {
  chart::ChartGrid grid = two_panels();
  fit(grid, parse_figure_size("3.3in", "8"));
  EXPECT_NEAR(grid.width, 326.7, 1e-9);
  EXPECT_EQ(grid.columns, 1U) << "two would not fit";
  const std::string svg = chart::to_svg(grid);
  EXPECT_NE(svg.find("viewBox=\"0 0 327 "), std::string::npos) << svg.substr(0, 200);
  EXPECT_NE(svg.find(" width=\"237.6pt\" height=\""), std::string::npos) << svg.substr(0, 200);
  chart::ChartGrid wide = two_panels();
  fit(wide, parse_figure_size("7in", "8"));
  EXPECT_EQ(wide.columns, 2U);
}

}  // namespace
}  // namespace strata
