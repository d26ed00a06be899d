// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace strata {
namespace {

TEST(PredictOptions, each_sets_what_it_names) {
  PredictRequest request;
  const auto set = [&](std::string_view name, std::string_view value) {
    set_option(request, name, value);
  };
  set("capacity", "128MiB");
  EXPECT_EQ(request.hardware.capacity_bytes, std::int64_t{128} << 20);
  set("bandwidth", "616GB/s");
  EXPECT_EQ(request.hardware.bytes_per_s, 616e9);
  set("throughput", "13.45TFLOP/s");
  EXPECT_EQ(request.hardware.flop_per_s, 13.45e12);
  set("policy", "belady");
  EXPECT_EQ(request.options.policy, Policy::belady);
  set("prefetch", "next-layer");
  EXPECT_EQ(request.options.prefetch, Prefetch::next_layer);
  set("offload", "on-demand");
  EXPECT_EQ(request.options.offload, Offload::on_demand);
  set("objective", "traffic");
  EXPECT_EQ(request.options.objective, Objective::traffic);
  set("bounds", "never");
  EXPECT_EQ(request.bounds, WantBounds::not_at_all);
  set("granularity", "1MiB");
  EXPECT_EQ(request.options.granularity_bytes, 1 << 20);
  set("strict-minimum", "true");
  EXPECT_TRUE(request.options.strict_minimum);
  set("inference", "true");
  EXPECT_TRUE(request.training.inference);
  set("optimizer", "adam");
  EXPECT_EQ(request.training.optimizer, Optimizer::adam);
  set("loss", "none");
  EXPECT_EQ(request.training.loss, Loss::none);
  set("recompute", "blocks");
  EXPECT_EQ(request.training.recompute, Recompute::blocks);
  set("micro-batches", "4");
  EXPECT_EQ(request.training.micro_batches, 4);
  set("master-weights", "true");
  EXPECT_TRUE(request.training.master_weights);
  set("separate-backward", "true");
  EXPECT_TRUE(request.training.separate_backward);
  set("pool-keeps-input", "true");
  EXPECT_TRUE(request.training.pool_keeps_input);
}

TEST(PredictOptions, what_cannot_be_is_refused_by_name) {
  const auto problem = [](std::string_view name, std::string_view value) {
    PredictRequest request;
    try {
      set_option(request, name, value);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  for (const std::string_view value : {"-1MiB", "1", "1M", "nan", "12 apples", ""})
    EXPECT_NE(problem("capacity", value).find("--capacity"), std::string::npos) << value;
  for (const std::string_view value : {"0GB/s", "-5GB/s", "nan", "inf", "fast"})
    EXPECT_NE(problem("bandwidth", value).find("--bandwidth"), std::string::npos) << value;
  EXPECT_NE(problem("policy", "beste").find("best"), std::string::npos);
  EXPECT_NE(problem("pool-keeps-input", "yes").find("true or false"), std::string::npos);
  EXPECT_NE(problem("capasity", "1MiB").find("capacity"), std::string::npos);
}

// The two that change the layout of an iteration do so.
TEST(PredictOptions, backward_can_be_apart_and_pooling_can_keep_its_input) {
  const Graph graph = load_model("alexnet");
  const Machine machine = load_machine("h100-sxm");
  const auto steps = [&](std::string_view option) {
    PredictRequest request;
    request.bounds = WantBounds::not_at_all;
    request.wants_alternatives = false;
    if (!option.empty()) set_option(request, option, "true");
    const PredictedIteration iteration = predict_model(graph, machine, request);
    return std::pair(iteration.program.steps.size(), iteration.summary.totals.footprint_bytes);
  };
  const auto plain = steps("");
  // 8 layers with weights, the first of which makes no gradient of its input.
  EXPECT_EQ(steps("separate-backward").first, plain.first + 7);
  EXPECT_EQ(steps("pool-keeps-input").first, plain.first);
  EXPECT_NE(steps("pool-keeps-input").second, plain.second);
}

PredictedIteration thesis_iteration(std::string_view network, std::string_view capacity) {
  PredictRequest request = thesis_request();
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  set_option(request, "capacity", capacity);
  return predict_model(load_model(std::string(network)), load_machine("rtx-2080-ti"), request);
}

TEST(PredictOptions, the_preset_has_the_prefetch_list_of_the_thesis_unless_another_is_typed) {
  const PredictionSummary own = thesis_iteration("transformer_thesis", "168MiB").summary;
  EXPECT_EQ(own.options.prefetch, Prefetch::listing_printed);
  EXPECT_EQ(own.options.channel, ChannelOrder::loads_first);
  EXPECT_EQ(own.options.offload, Offload::look_ahead);
  EXPECT_NEAR(own.totals.time_s, 0.1505, 0.0001);

  PredictRequest typed = thesis_request();
  set_option(typed, "prefetch", "soonest");
  EXPECT_EQ(typed.options.prefetch, Prefetch::soonest);
  EXPECT_EQ(typed.options.policy, Policy::thesis);
}

// It needs 24.03 MiB: 1 % of slack, no slices.
TEST(PredictOptions, a_step_that_is_tolerated_is_not_called_cut) {
  const PredictionSummary summary = thesis_iteration("gnmt_thesis:layers=2", "24MiB").summary;
  EXPECT_TRUE(summary.sliced_steps.empty());
  EXPECT_FALSE(summary.tolerated_steps.empty());
  EXPECT_EQ(summary.totals.refetch_bytes, 0);
}

TEST(PredictOptions, every_row_says_how_much_of_the_chip_is_in_use) {
  const PredictedIteration iteration = thesis_iteration("resnet50_keras:padding=fused", "64MiB");
  std::int64_t most = 0;
  for (const ProfileRow& row : iteration.summary.profile.rows) {
    ASSERT_TRUE(row.peak_on_chip_bytes) << row.layer;
    EXPECT_LE(*row.peak_on_chip_bytes, 64 << 20) << row.layer;
    most = std::max(most, *row.peak_on_chip_bytes);
  }
  EXPECT_EQ(most, iteration.summary.totals.peak_on_chip_bytes);
  for (const StepResult& step : iteration.prediction.steps)
    EXPECT_GE(step.peak_occupied_bytes, step.occupied_bytes);
}

}  // namespace
}  // namespace strata
