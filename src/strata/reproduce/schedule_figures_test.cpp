// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/figures.hpp"
#include "strata/reproduce/thesis_example.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

double example_s(Prefetch prefetch, Offload offload) {
  const Program program = thesis_example();
  const PredictOptions options{.policy = Policy::thesis, .prefetch = prefetch, .offload = offload};
  return predict(AccessList(program), thesis_example_hardware(), options).time_s;
}

TEST(ScheduleFigures, the_example_shows_what_both_policies_gain) {
  const double thesis_s = example_s(Prefetch::listing_printed, Offload::look_ahead);
  EXPECT_LT(thesis_s, example_s(Prefetch::next_layer, Offload::look_ahead));
  EXPECT_LT(thesis_s, example_s(Prefetch::listing_printed, Offload::on_demand));
}

TEST(ScheduleFigures, every_step_and_every_transfer_of_a_schedule_is_drawn) {
  const Program program = thesis_example();
  for (const Figure& figure : schedule_figures()) {
    ASSERT_EQ(figure.grid.panels.size(), 2U);
    EXPECT_TRUE(figure.csv.starts_with("network,policy,lane,what,start_s,end_s\n"));
    for (const chart::Chart& panel : figure.grid.panels)
      EXPECT_GT(panel.bands.size(), program.steps.size() + 8) << panel.title;
  }
}

// Weights are W1 to W4, what layers read X1 to X4.
TEST(ScheduleFigures, blocks_have_names) {
  EXPECT_EQ(thesis_example_name(2), "Layer 3");
  EXPECT_EQ(thesis_example_name(4), "Layer 4 backward");
  const Program program = thesis_example();
  for (StepId step = 0; step < 4; ++step) {
    const std::string number = std::to_string(step + 1);
    EXPECT_EQ(thesis_example_name_of_value(program.uses_of(step)[0].value), "X" + number);
    EXPECT_EQ(thesis_example_name_of_value(program.uses_of(step)[1].value), "W" + number);
    const auto backward = program.uses_of(7 - step);
    EXPECT_EQ(thesis_example_name_of_value(backward[3].value), "dW" + number);
    if (step > 0) {
      EXPECT_EQ(thesis_example_name_of_value(backward[4].value), "dX" + number);
    }
  }
  for (const Figure& figure : schedule_figures()) {
    const std::string svg = chart::to_svg(figure.grid);
    for (const char* name : {">X1<", ">W1<", ">W4<", ">Layer 1<", ">Layer 4<"})
      EXPECT_NE(svg.find(name), svg.npos) << figure.name << " " << name;
  }
}

LayerPoint layer_point(LayerClass layer_class, std::int64_t operations) {
  return {.layer = "", .layer_class = layer_class, .operations = operations, .bytes = 1};
}

TEST(ThesisDivider, lies_where_the_fewest_layers_are_on_the_wrong_side) {
  using enum LayerClass;
  EXPECT_DOUBLE_EQ(thesis_divider({layer_point(pointwise, 1), layer_point(dense, 100)}), 10);
  // One layer of each type is on the wrong side.
  EXPECT_DOUBLE_EQ(
      thesis_divider({layer_point(pointwise, 1), layer_point(dense, 2), layer_point(pointwise, 3),
                      layer_point(pointwise, 4), layer_point(dense, 100),
                      layer_point(pointwise, 200), layer_point(dense, 400)}),
      20);
  EXPECT_DOUBLE_EQ(thesis_divider({layer_point(other, 1), layer_point(dense, 9)}), 9);
}

}  // namespace
}  // namespace strata
