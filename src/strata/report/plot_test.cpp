// SPDX-License-Identifier: Apache-2.0
#include "strata/report/plot.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/made_up_results_test.hpp"
#include "strata/report/chart/scene.hpp"
#include "strata/report/chart/well_formed_test.hpp"
#include "strata/report/plot_api.hpp"
#include "strata/report/sweep_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <variant>

namespace strata {
namespace {

PlottedProfile plotted(std::string label, std::vector<std::pair<std::string, double>> times,
                       std::optional<std::int64_t> batch = {}) {
  Profile profile;
  profile.subject = {.title = "N", .machine_title = "M"};
  for (const auto& [name, time_s] : times) {
    for (const char* pass : {"forward", "backward"}) {
      ProfileRow row{.layer = name,
                     .pass = pass,
                     .op = name.substr(0, 4),
                     .block = name,
                     .layer_class = "dense",
                     .totals = {},
                     .cause = {}};
      row.totals.time_s = pass[0] == 'f' ? time_s : 2 * time_s;
      row.totals.flop = 100;
      row.totals.in_bytes = 10;
      profile.rows.push_back(std::move(row));
    }
  }
  return {{std::move(label), std::move(profile)}, batch};
}

void expect_drawable(const chart::ChartGrid& grid) {
  const std::string svg = chart::to_svg(grid);
  EXPECT_EQ(test::problem_of_xml(svg), "");
  EXPECT_EQ(svg, chart::to_svg(grid));
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PlotKinds, have_names_of_their_own_and_a_published_figure) {
  std::set<std::string_view> names;
  for (const PlotKindFacts& facts : plot_kinds()) {
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_EQ(&facts_of(facts.kind), &facts);
    EXPECT_EQ(&plot_kind_named(facts.name), &facts);
    EXPECT_FALSE(facts.published.empty());
    EXPECT_NE(plot_kinds_text().find(facts.published), std::string::npos);
  }
  EXPECT_NE(refusal([] { plot_kind_named("layer"); }).find("did you mean layers"),
            std::string::npos);
}

TEST(PlotLayers, bars_are_the_times_of_each_layer_and_pass) {
  const chart::ChartGrid grid = layers_figure({plotted("p", {{"conv1", 1}, {"fc", 0.5}})});
  ASSERT_EQ(grid.panels.size(), 1U);
  const chart::Chart& chart = grid.panels[0];
  EXPECT_EQ(chart.x.categories, (std::vector<std::string>{"conv1", "fc"}));
  ASSERT_EQ(chart.bars.size(), 2U);
  EXPECT_EQ(chart.bars[0].name, "forward");
  EXPECT_EQ(chart.bars[0].values, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(chart.bars[1].values, (std::vector<double>{2, 1}));
  expect_drawable(grid);
}

TEST(PlotLayers, of_many_the_slowest_stay_in_order) {
  std::vector<std::pair<std::string, double>> times;
  for (int i = 0; i < 50; ++i) times.emplace_back("layer" + std::to_string(i), 1 + (i * 7) % 50);
  const chart::Chart chart = layers_figure({plotted("p", times)}).panels.at(0);
  EXPECT_EQ(chart.x.categories.size(), 36U);
  EXPECT_TRUE(chart.x.title.starts_with("the 36 slowest of 50 layers"));
  double least_shown = 1e9;
  for (const double value : chart.bars[0].values) least_shown = std::min(least_shown, value);
  EXPECT_EQ(least_shown, 15);  // 50 … 15 are 36 numbers
}

TEST(PlotTypes, several_profiles_are_shares_that_add_up_to_one) {
  const chart::ChartGrid grid = types_figure(
      {plotted("a", {{"conv1", 3}, {"relu1", 1}}), plotted("b", {{"conv1", 1}, {"pool1", 1}})});
  const chart::Chart& chart = grid.panels.at(0);
  EXPECT_EQ(chart.x.categories, (std::vector<std::string>{"a", "b"}));
  std::vector<double> sums(2);
  for (const chart::Bars& bars : chart.bars) {
    for (std::size_t i = 0; i < 2; ++i) sums[i] += bars.values[i];
    if (bars.name == "conv") {
      EXPECT_EQ(bars.values, (std::vector<double>{0.75, 0.5}));
    }
  }
  EXPECT_DOUBLE_EQ(sums[0], 1);
  EXPECT_DOUBLE_EQ(sums[1], 1);
  expect_drawable(grid);
}

TEST(PlotBatches, go_by_batch_and_need_two) {
  const auto profiles = std::vector{plotted("b", {{"conv1", 1}, {"relu1", 1}}, 64),
                                    plotted("a", {{"conv1", 3}, {"relu1", 1}}, 8)};
  const chart::ChartGrid grid = batch_trends_figure(profiles);
  const chart::Series& conv = grid.panels.at(0).series.at(0);
  EXPECT_EQ(conv.name, "conv");
  EXPECT_EQ(conv.points.at(0).x, 8);
  EXPECT_EQ(conv.points.at(0).y, 0.75);
  EXPECT_EQ(conv.points.at(1).y, 0.5);
  expect_drawable(grid);
  EXPECT_NE(refusal([&] { batch_trends_figure({profiles[0]}); }).find("at least two batches"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              batch_trends_figure({plotted("x", {{"conv", 1}})});
            }).find("'model.batch'"),
            std::string::npos);
}

TEST(PlotProfiles, without_times_name_the_column) {
  PlottedProfile profile = plotted("p", {{"conv1", 1}});
  profile.labelled.profile.columns.has_time = false;
  for (const auto figure : {layers_figure, types_figure, metric_panels_figure}) {
    EXPECT_NE(refusal([&] { figure({profile}); }).find("'time_s'"), std::string::npos);
  }
}

TEST(PlotMetrics, rates_are_counts_over_time) {
  PlottedProfile measured = plotted("p", {{"conv1", 2}});
  // The bytes of a predicted layer move while others run: over its own time they are no rate.
  EXPECT_EQ(metric_panels_figure({measured}).panels.size(), 3U);
  measured.labelled.profile.evidence = Evidence::measured;
  const chart::ChartGrid grid = metric_panels_figure({measured});
  ASSERT_EQ(grid.panels.size(), 4U);
  EXPECT_DOUBLE_EQ(grid.panels[0].bars.at(0).values.at(0), 6);
  EXPECT_DOUBLE_EQ(grid.panels[1].bars.at(0).values.at(0), 200.0 / 6);
  EXPECT_DOUBLE_EQ(grid.panels[2].bars.at(0).values.at(0), 20.0 / 6);
  EXPECT_DOUBLE_EQ(grid.panels[3].bars.at(0).values.at(0), 10);
  expect_drawable(grid);
}

TEST(PlotMetrics, a_program_without_rows_is_refused) {
  try {
    metric_panels_figure({plotted("only_views", {})});
    FAIL() << "drawn";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_TRUE(std::string_view(error.what()).starts_with("only_views: no layer")) << error.what();
  }
}

TEST(PlotMetrics, long_names_of_layers_stay_within_the_picture) {
  std::vector<std::pair<std::string, double>> times;
  for (int i = 0; i < 24; ++i)
    times.emplace_back("a_block_with_a_long_name.layer" + std::to_string(i), 1);
  const chart::Scene scene = chart::laid_out(metric_panels_figure({plotted("p", times)}));
  std::size_t names = 0;
  for (const chart::Shape& shape : scene.shapes) {
    const auto* text = std::get_if<chart::TextShape>(&shape);
    if (text == nullptr) continue;
    names += text->text.starts_with("a_block") ? 1 : 0;
    for (const chart::Place& corner : chart::corners_of(*text)) {
      EXPECT_GE(corner.x, 0) << text->text;
      EXPECT_LE(corner.y, scene.height) << text->text;
    }
  }
  EXPECT_EQ(names, 24U);  // below the last panel only
}

SweepTable small_table() {
  constexpr double mb = 1048576;
  SweepTable table;
  table.row_count = 8;
  std::vector<double> capacity;
  std::vector<double> rate;
  std::vector<double> time;
  std::vector<double> area;
  for (const double c : {1, 2, 4, 8}) {
    for (const double r : {1e12, 2e12}) {
      capacity.push_back(c * mb);
      rate.push_back(r);
      time.push_back(c == 8 ? 1e12 / r : 1e12 / r + 1 / c);
      area.push_back(c);
    }
  }
  time.back() = no_number;  // a point that failed
  table.columns = {{.name = "model",
                    .is_number = false,
                    .is_axis = true,
                    .numbers = {},
                    .texts = std::vector<std::string>(8, "net")},
                   {.name = "capacity_bytes", .is_axis = true, .numbers = capacity, .texts = {}},
                   {.name = "throughput_flop_per_s", .is_axis = true, .numbers = rate, .texts = {}},
                   {.name = "time_s", .numbers = time, .texts = {}},
                   {.name = "area_mm2", .numbers = area, .texts = {}}};
  return table;
}

TEST(SweepFigure, a_line_for_each_combination_of_the_other_axes) {
  const chart::Chart chart = sweep_line_figure(small_table());
  EXPECT_EQ(chart.title, "Time over capacity");
  EXPECT_EQ(chart.subtitle, "net");
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].name, "1.000 TFLOP/s");
  EXPECT_EQ(chart.series[0].points.size(), 4U);
  EXPECT_EQ(chart.series[1].points.size(), 3U);  // without the one that failed
  EXPECT_DOUBLE_EQ(chart.series[1].points[1].y, 0.5 + 0.5);
  EXPECT_EQ(sweep_line_figure(small_table(), {.x = "throughput", .y = {}, .z = {}}).series.size(),
            4U);
  EXPECT_NE(refusal([] {
              sweep_line_figure(small_table(), {.x = "model", .y = {}, .z = {}});
            }).find("texts"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              sweep_line_figure(small_table(), {.x = {}, .y = "speed", .z = {}});
            }).find("no column 'speed'"),
            std::string::npos);
}

TEST(SweepFigure, a_cell_of_a_map_for_each_point) {
  const chart::ChartGrid grid = sweep_heat_figure(small_table());
  ASSERT_EQ(grid.panels.size(), 1U);
  const chart::Chart& chart = grid.panels[0];
  EXPECT_EQ(chart.bands.size(), 7U);
  double darkest = 2;
  double lightest = -1;
  for (const chart::Band& band : chart.bands) {
    darkest = std::min(darkest, *band.shade);
    lightest = std::max(lightest, *band.shade);
    EXPECT_LT(*band.x_from, *band.x_to);
    EXPECT_LT(*band.y_from, *band.y_to);
  }
  EXPECT_EQ(darkest, 0);
  EXPECT_EQ(lightest, 1);
  // Capacities grow by factors: edges lie half-way along a logarithmic axis, and cells tile it.
  EXPECT_EQ(chart.x.scale, chart::ScaleKind::logarithmic);
  EXPECT_NEAR(*chart.bands[0].x_to, std::sqrt(2.0) * 1048576, 1e-3);
  EXPECT_EQ(*chart.bands[0].x_to, *chart.bands[2].x_from);
  expect_drawable(grid);
  EXPECT_NE(chart::to_svg(grid).find(".h15{"), std::string::npos);
  SweepTable one = small_table();
  one.columns.erase(one.columns.begin() + 2);
  EXPECT_NE(refusal([&] { sweep_heat_figure(one); }).find("two axes"), std::string::npos);
}

TEST(SweepFigure, the_front_is_what_nothing_betters) {
  const chart::ChartGrid grid = sweep_pareto_figure(small_table());
  const chart::Chart& chart = grid.panels.at(0);
  EXPECT_EQ(chart.series.at(0).points.size(), 7U);
  const chart::Series& front = chart.series.at(1);
  ASSERT_EQ(front.points.size(), 3U);  // at 1, 2 and 4 mm² the faster rate; 8 mm² is slower
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(front.points[i].y, 0.5 + 1 / front.points[i].x);
  expect_drawable(grid);
}

TEST(PlotConvolutions, every_kind_has_its_panels) {
  const ConvResults results = test::results_with_crossover();
  for (const PlotKind kind : {PlotKind::conv_sweep, PlotKind::conv_memory, PlotKind::conv_roles})
    expect_drawable(conv_figure(results, kind));
  const chart::ChartGrid metrics = conv_metric_figure(results);
  EXPECT_EQ(metrics.panels.at(0).bars.at(0).values.at(0), 72);
  EXPECT_EQ(metrics.panels.at(1).bars.at(0).values.at(0), 16384);
  const chart::ChartGrid transfers = transfer_figure(results);
  // Copies of 0.2 of the run while nothing runs; pinned ones hide behind it.
  for (const double share : transfers.panels.at(0).bars.at(0).values)
    EXPECT_NEAR(share, 0.2 / 1.2, 1e-9);
  for (const double share : transfers.panels.at(0).bars.at(1).values) EXPECT_EQ(share, 0);
  expect_drawable(transfers);
}

RecordedCalls recorded_calls(std::string label,
                             std::vector<std::pair<std::string, std::int64_t>> times) {
  RecordedCalls program{std::move(label), {}};
  for (auto& [name, total_ns] : times)
    program.tables.by_api.push_back({name, ApiKind::runtime, {.calls = 2, .total_ns = total_ns}});
  return program;
}

TEST(PlotApi, slices_are_the_times_of_calls_and_a_call_has_one_colour) {
  const chart::ChartGrid grid =
      api_donut_figure({recorded_calls("a", {{"cudaLaunchKernel", 3000}, {"cudaFree", 1000}}),
                        recorded_calls("b", {{"cudaFree", 5000}})});
  ASSERT_EQ(grid.panels.size(), 2U);
  const chart::Ring& ring = grid.panels[0].ring;
  ASSERT_EQ(ring.slices.size(), 2U);
  EXPECT_EQ(ring.slices[0].name, "cudaFree");  // 6 µs in both together
  EXPECT_DOUBLE_EQ(ring.slices[0].value, 1e-6);
  EXPECT_DOUBLE_EQ(ring.slices[1].value, 3e-6);
  EXPECT_EQ(ring.middle, "4.00 µs");
  EXPECT_EQ(grid.panels[1].ring.slices.at(0).color, ring.slices[0].color);
  expect_drawable(grid);
  EXPECT_NE(chart::to_svg(grid).find("75 %"), std::string::npos);
}

TEST(PlotApi, beyond_the_colours_calls_are_one_slice) {
  std::vector<std::pair<std::string, std::int64_t>> times;
  for (int i = 0; i < 12; ++i) times.emplace_back("call" + std::to_string(i), 1000 - i);
  const chart::ChartGrid grid = api_donut_figure({recorded_calls("a", times)});
  const chart::Ring& ring = grid.panels[0].ring;
  ASSERT_EQ(ring.slices.size(), 8U);
  EXPECT_EQ(ring.slices.back().name, "other calls");
  EXPECT_NEAR(ring.slices.back().value, 1e-9 * (993 + 992 + 991 + 990 + 989), 1e-15);
  EXPECT_NE(ring.slices.back().hint.find("in 10 calls of 5 kinds"), std::string::npos);
  times.resize(8);
  EXPECT_EQ(api_donut_figure({recorded_calls("a", times)}).panels[0].ring.slices.back().name,
            "call7");
}

TEST(PlotApi, refuses_a_recording_without_calls_and_a_ring_that_cannot_be) {
  EXPECT_NE(refusal([] { api_donut_figure({recorded_calls("a", {})}); }).find("a: no calls"),
            std::string::npos);
  chart::Chart chart{.title = "t"};
  chart.ring.slices = {{.name = "x", .value = -1}};
  EXPECT_NE(refusal([&] { chart::to_svg(chart); }).find("no part of a ring"), std::string::npos);
  chart.ring.slices = {{.name = "x", .value = 0}};
  EXPECT_NE(refusal([&] { chart::to_svg(chart); }).find("nothing to draw"), std::string::npos);
  chart.ring.slices = {{.name = "x", .value = 1}};
  EXPECT_EQ(test::problem_of_xml(chart::to_svg(chart)), "");
  chart.series.push_back({.name = "s", .points = {{1, 1, ""}}});
  EXPECT_NE(refusal([&] { chart::to_svg(chart); }).find("no axes"), std::string::npos);
}

}  // namespace
}  // namespace strata
