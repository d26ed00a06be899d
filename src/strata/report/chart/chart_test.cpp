// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/chart.hpp"

#include "strata/base/error.hpp"
#include "strata/report/chart/scene.hpp"
#include "strata/report/chart/well_formed_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string_view>

namespace strata::chart {
namespace {

/// A roofline with all that a chart can have.
Chart roofline(std::uint64_t seed, std::size_t points) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-1, 3);
  Chart chart{
      .title = "Roofline",
      .subtitle = "every kind of thing in one picture",
      .x = {.title = "intensity (FLOP/byte)", .scale = ScaleKind::logarithmic},
      .y = {.title = "rate", .quantity = Quantity::flop_per_s, .scale = ScaleKind::logarithmic}};
  Series cloud{.name = "layers", .stroke = Stroke::none, .marker = Marker::circle};
  for (std::size_t i = 0; i < points; ++i) {
    const double x = std::pow(10.0, exponent(random));
    cloud.points.push_back({x, std::min(1e13, x * 6e11), "layer " + std::to_string(i)});
  }
  chart.series = {cloud,
                  {.name = "over batch",
                   .points = {{1, 1e11, "16"}, {2, 3e11, "32"}, {4, 8e11, "64"}},
                   .color = 1,
                   .marker = Marker::square}};
  chart.lines = {
      {.direction = Direction::diagonal, .at = 6e11, .to = 16.7, .label = "600 GB/s"},
      {.direction = Direction::horizontal, .at = 1e13, .from = 16.7, .label = "10 TFLOP/s"},
      {.direction = Direction::vertical, .at = 16.7, .label = "ridge"}};
  chart.bands = {{.x_to = 1, .label = "hardly reused"}};
  return chart;
}

Chart bars(BarLayout layout) {
  return {.title = "Bars",
          .x = {.title = "capacity", .categories = {"24 MB", "a rather long name", "400 MB"}},
          .y = {.title = "time", .quantity = Quantity::seconds},
          .bars = {{.name = "convolution", .values = {0.02, 0.01, 0.005}},
                   {.name = "other", .values = {0.001, 0, 0.002}, .color = 1}},
          .bar_layout = layout};
}

ChartGrid grid_of(std::vector<Chart> panels, std::size_t columns) {
  return {.title = "Many", .panels = std::move(panels), .columns = columns};
}

std::vector<ChartGrid> samples() {
  std::vector<ChartGrid> grids;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    grids.push_back(grid_of({roofline(seed, seed * 3)}, 1));
    grids.push_back(grid_of({roofline(seed, 5), bars(BarLayout::grouped), bars(BarLayout::stacked)},
                            1 + seed % 3));
  }
  return grids;
}

Corners corners_of_rect(const Rect& rect) {
  return {{{rect.x, rect.y},
           {rect.right(), rect.y},
           {rect.right(), rect.bottom()},
           {rect.x, rect.bottom()}}};
}

TEST(Chart, nothing_lies_outside_and_no_texts_overlap) {
  for (const ChartGrid& grid : samples()) {
    const Scene scene = laid_out(grid);
    const Rect view{0, 0, scene.width, scene.height};
    std::vector<const TextShape*> texts;
    for (const Shape& shape : scene.shapes) {
      if (const auto* text = std::get_if<TextShape>(&shape)) {
        EXPECT_TRUE(inside(corners_of(*text), view)) << text->text;
        for (const TextShape* other : texts) {
          EXPECT_FALSE(overlap(corners_of(*text), corners_of(*other)))
              << text->text << " / " << other->text;
        }
        texts.push_back(text);
      } else if (const auto* line = std::get_if<LineShape>(&shape)) {
        for (const Place& place : line->places) EXPECT_TRUE(view.contains(place));
      } else if (const auto* rect = std::get_if<RectShape>(&shape)) {
        EXPECT_TRUE(inside(corners_of_rect(rect->rect), view));
      } else {
        EXPECT_TRUE(view.contains(std::get<MarkerShape>(shape).center));
      }
    }
  }
}

TEST(Chart, is_well_formed_and_the_same_bytes_each_time) {
  for (const ChartGrid& grid : samples()) {
    const std::string svg = to_svg(grid);
    EXPECT_EQ(test::problem_of_xml(svg), "");
    EXPECT_EQ(svg, to_svg(grid));
  }
}

TEST(Chart, escapes_every_name) {
  Chart chart = roofline(1, 3);
  const std::string hostile = "</text><script>\"&'\x01\xff]]>";
  chart.title = chart.subtitle = chart.x.title = chart.y.title = hostile;
  chart.series[0].name = chart.series[0].points[0].label = hostile;
  chart.lines[0].label = chart.bands[0].label = hostile;
  const std::string svg = to_svg(chart);
  EXPECT_EQ(test::problem_of_xml(svg), "");
  EXPECT_EQ(svg.find("<script"), svg.npos);
}

/// Reads the scale of an axis off the labels of its ticks, as a person would.
double read_off(const Scene& scene, double pixel, bool along_x, std::string_view low_label,
                double low, std::string_view high_label, double high, bool is_log) {
  double low_pixel = 0;
  double high_pixel = 0;
  for (const Shape& shape : scene.shapes) {
    const auto* text = std::get_if<TextShape>(&shape);
    if (text == nullptr || text->anchor != (along_x ? Anchor::middle : Anchor::end)) continue;
    const double at = along_x ? text->place.x : text->place.y - 4;  // the base line is below
    if (text->text == low_label) low_pixel = at;
    if (text->text == high_label) high_pixel = at;
  }
  const double part = (pixel - low_pixel) / (high_pixel - low_pixel);
  return is_log ? low * std::pow(high / low, part) : low + part * (high - low);
}

TEST(Chart, marks_lie_where_the_ticks_say) {
  const std::vector<Point> points = {{30, 2e10}, {200, 5e11}, {777, 1e10}, {1000, 9.9e11}};
  const Chart chart{
      .x = {.title = "x", .from_zero = true},
      .y = {.title = "y", .quantity = Quantity::flop_per_s, .scale = ScaleKind::logarithmic},
      .series = {{.points = points, .marker = Marker::circle}}};
  const Scene scene = laid_out(grid_of({chart}, 1));
  std::size_t found = 0;
  for (const Shape& shape : scene.shapes) {
    const auto* marker = std::get_if<MarkerShape>(&shape);
    if (marker == nullptr) continue;
    const Point& point = points.at(found++);
    EXPECT_NEAR(read_off(scene, marker->center.x, true, "200", 200, "800", 800, false), point.x,
                1e-6);
    EXPECT_NEAR(
        read_off(scene, marker->center.y, false, "10 GFLOP/s", 1e10, "1 TFLOP/s", 1e12, true) /
            point.y,
        1, 1e-9);
  }
  EXPECT_EQ(found, points.size());
}

TEST(Chart, stacked_bars_stand_on_each_other_and_have_the_height_of_their_values) {
  const Chart chart = bars(BarLayout::stacked);
  const Scene scene = laid_out(grid_of({chart}, 1));
  std::vector<Rect> drawn;
  for (const Shape& shape : scene.shapes) {
    const auto* rect = std::get_if<RectShape>(&shape);
    if (rect != nullptr && !rect->hint.empty()) drawn.push_back(rect->rect);
  }
  ASSERT_EQ(drawn.size(), 5U);  // a value of 0 has no bar
  EXPECT_NEAR(drawn[0].y, drawn[1].bottom(), 1e-9);
  EXPECT_NEAR(drawn[0].height / drawn[1].height, 0.02 / 0.001, 1e-6);
  EXPECT_NEAR(drawn[0].height / drawn[2].height, 2, 1e-9);
}

TEST(Chart, lines_that_leave_the_plot_are_cut_at_its_edge) {
  const Chart chart{.x = {.least = 0, .most = 10},
                    .y = {.least = 0, .most = 10},
                    .series = {{.points = {{-5, 5}, {15, 5}, {15, -20}, {2, -20}, {2, 8}}}}};
  const Scene scene = laid_out(grid_of({chart}, 1));
  std::vector<const LineShape*> curves;
  for (const Shape& shape : scene.shapes) {
    const auto* line = std::get_if<LineShape>(&shape);
    if (line != nullptr && line->style.starts_with("line")) curves.push_back(line);
  }
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0]->places.size(), 2U);
  const double width = curves[0]->places[1].x - curves[0]->places[0].x;
  EXPECT_NEAR(curves[1]->places[0].x - curves[0]->places[0].x, 0.2 * width, 1e-9);
}

void expect_refused(const Chart& chart, std::string_view reason) {
  try {
    to_svg(chart);
    ADD_FAILURE() << "drawn: " << reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string_view(error.what()).find(reason), std::string_view::npos) << error.what();
  }
}

TEST(Chart, refuses_what_cannot_be_drawn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_refused({.title = "t", .series = {{.name = "s", .points = {{1, nan}}}}}, "not finite");
  expect_refused({.title = "t",
                  .y = {.scale = ScaleKind::logarithmic},
                  .series = {{.name = "s", .points = {{1, 0}}}}},
                 "logarithmic");
  expect_refused({.title = "t"}, "nothing to draw");
  expect_refused({.title = "t", .x = {.least = 2, .most = 1}}, "before it begins");
  Chart chart = bars(BarLayout::grouped);
  chart.bars[0].values.pop_back();
  expect_refused(chart, "2 bars for 3 categories");
  EXPECT_THROW(to_svg(ChartGrid{.title = "empty"}), Error);
  EXPECT_THROW(to_svg(roofline(1, 1), 100), Error) << "no room";
}

TEST(Chart, text_is_shortened_between_characters) {
  EXPECT_EQ(fitted("short", 11, Weight::normal, 100), "short");
  for (double width = 10; width < 80; ++width) {
    const std::string text = fitted("−×→−×→ and more", 11, Weight::normal, width);
    EXPECT_LE(text_width(text, 11), std::max(width, text_width("…", 11)));
    EXPECT_EQ(test::problem_of_xml("<a>" + text + "</a>"), "");
  }
}

}  // namespace
}  // namespace strata::chart
