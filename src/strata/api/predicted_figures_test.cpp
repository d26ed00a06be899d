// SPDX-License-Identifier: Apache-2.0
// Figures over the time of a prediction, held against what the prediction says in numbers.
#include "strata/api/predict.hpp"
#include "strata/report/chart/well_formed_test.hpp"
#include "strata/report/plot.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

// What the bands of a panel cover: shares of the whole.
double covered(const chart::Chart& chart) {
  double area = 0;
  for (const chart::Band& band : chart.bands)
    area += (*band.x_to - *band.x_from) * (*band.y_to - *band.y_from);
  return area;
}

TEST(PlotTimeline, areas_are_the_times_and_the_peak_is_the_footprint) {
  PredictRequest request;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  request.wants_transfers = true;
  set_option(request, "capacity", "400KiB");
  const Graph graph = load_model("lenet5");
  const PredictedIteration iteration = predict_model(graph, load_machine("rtx-2080-ti"), request);
  const Prediction& prediction = iteration.prediction;
  const chart::ChartGrid grid =
      timeline_figure(iteration.program, prediction, 400 << 10, {"T", "S"});
  ASSERT_EQ(grid.panels.size(), 5U);
  const double tolerance = 2e-3 * prediction.time_s;  // slivers below a thousandth are left out
  EXPECT_NEAR(covered(grid.panels[0]), prediction.compute_s, tolerance);
  EXPECT_NEAR(covered(grid.panels[1]), prediction.stall_s, tolerance);
  const double channel_s = static_cast<double>(prediction.in_bytes + prediction.out_bytes) / 616e9;
  EXPECT_NEAR(covered(grid.panels[2]) + covered(grid.panels[3]), channel_s, tolerance);
  EXPECT_EQ(test::problem_of_xml(chart::to_svg(grid)), "");

  const chart::ChartGrid memory = memory_figure(iteration.program, prediction, {"T", "S"});
  EXPECT_EQ(memory.panels.at(0).lines.at(0).at,
            static_cast<double>(iteration.summary.totals.footprint_bytes));
  EXPECT_EQ(test::problem_of_xml(chart::to_svg(memory)), "");
}

}  // namespace
}  // namespace strata
