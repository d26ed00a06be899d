// SPDX-License-Identifier: Apache-2.0
#include "strata/report/measured_kernels.hpp"

#include "strata/base/error.hpp"
#include "strata/report/plot.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

constexpr std::string_view document = R"json({"schema_version":1,"kind":"measurement",
  "model":{"name":"lenet5","dtype":"fp32","mode":"training","dims":{"batch":4}},
  "options":{"optimizer":"sgd"},
  "kernels":[{"name":"a","layer":"c1","pass":"forward","begin_s":0.0,"time_s":1.0},
             {"name":"b","layer":"loss","pass":"backward_input","begin_s":1.5,"time_s":0.5},
             {"name":"c","layer":"c1","pass":"update","begin_s":2.0,"time_s":2.0}]})json";

TEST(MeasuredKernels, AreReadWithWhatTheyAreOf) {
  const MeasuredKernels measured = measured_kernels_in(document);
  ASSERT_EQ(measured.kernels.size(), 3U);
  EXPECT_EQ(measured.network, "lenet5");
  EXPECT_EQ(measured.optimizer, "sgd");
  ASSERT_EQ(measured.dims.size(), 1U);
  EXPECT_EQ(measured.dims[0].value, 4);
  EXPECT_DOUBLE_EQ(measured.end_s(), 4.0);
  EXPECT_TRUE(measured_kernels_in("{}").kernels.empty());
  EXPECT_THROW(measured_kernels_in(R"({"kernels":[{"begin_s":-1,"time_s":1}]})"), Error);
  EXPECT_THROW(measured_kernels_in("["), Error);
}

TEST(MeasuredKernels, FillTheLanesOfTheirPasses) {
  const chart::ChartGrid grid = timeline_figure(measured_kernels_in(document), {"t", "s"});
  ASSERT_EQ(grid.panels.size(), 4U);
  EXPECT_EQ(grid.panels[0].title, "kernels forward, 25 %");
  EXPECT_EQ(grid.panels[1].title, "kernels backward, 12 %");
  EXPECT_EQ(grid.panels[2].title, "kernels update, 50 %");
  EXPECT_EQ(grid.panels[3].title, "no kernel, 12 %");
  EXPECT_THROW(timeline_figure(MeasuredKernels{}, {"t", "s"}), Error);
}

TEST(MeasuredKernels, GiveTheStepsOfTheProgramTheirTimes) {
  const Graph graph = build_network("lenet5");
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  const Program program = make_program(bound);
  const chart::ChartGrid grid = memory_figure(program, measured_kernels_in(document), {"t", "s"});
  ASSERT_EQ(grid.panels.size(), 1U);
  const chart::Chart& chart = grid.panels[0];
  EXPECT_EQ(chart.x.most, 4.0);
  ASSERT_FALSE(chart.bands.empty());
  // Backward begins at 1.5 s and no gradient lives before it.
  for (const auto& band : chart.bands)
    EXPECT_TRUE(band.color != 3 || band.x_from.value_or(0) >= 1.4);
}

}  // namespace
}  // namespace strata
