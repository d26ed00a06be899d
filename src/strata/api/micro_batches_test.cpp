// SPDX-License-Identifier: Apache-2.0
// One meaning of the batch: the samples of one update of the weights, however they are split.
#include "strata/api/parallel.hpp"
#include "strata/api/sweep.hpp"
#include "strata/api/what_if.hpp"
#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

PredictRequest split_in(std::int64_t batch, std::int64_t micro_batches) {
  PredictRequest request;
  request.sizes.batch = batch;
  request.training.micro_batches = micro_batches;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  return request;
}

std::int64_t batch_of(const PredictionSummary& summary) {
  for (const Dimension& dimension : summary.dims) {
    if (dimension.name == "batch") return dimension.value;
  }
  return 0;
}

TEST(MicroBatches, share_the_batch) {
  const Graph graph = load_model("resnet18");
  const Machine machine = load_machine("h200");
  const PredictedIteration whole = predict_model(graph, machine, split_in(64, 1));
  const PredictedIteration split = predict_model(graph, machine, split_in(64, 4));
  EXPECT_EQ(split.bound->binding.at("batch"), 16);
  EXPECT_EQ(split.summary.totals.samples, 64);
  EXPECT_EQ(batch_of(split.summary), 64);
  EXPECT_LT(split.summary.expected->memory_bytes, whole.summary.expected->memory_bytes);
  const double samples_per_s = split.summary.profile.expected->samples_per_s;
  EXPECT_NEAR(samples_per_s * split.summary.expected->time_s, 64, 1e-9);
  EXPECT_EQ(predicted_time_s(graph, machine, split_in(64, 4)), split.summary.totals.time_s);
}

TEST(MicroBatches, default_batch_is_shared_too) {
  PredictRequest request = split_in(1, 4);
  request.sizes.batch.reset();
  const PredictionSummary summary =
      predict_model(load_model("lenet5"), load_machine("h200"), request).summary;
  EXPECT_EQ(summary.totals.samples, 32);
}

std::string refusal_of(std::int64_t batch, std::int64_t micro_batches) {
  try {
    bind_micro_batch(load_model("lenet5"), {.batch = batch}, micro_batches);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(MicroBatches, that_do_not_divide_are_refused_with_the_nearest_that_do) {
  EXPECT_EQ(refusal_of(64, 4), "");
  EXPECT_NE(refusal_of(64, 3).find("--batch 63 or 66, or --micro-batches 2 or 4"),
            std::string::npos)
      << refusal_of(64, 3);
  EXPECT_NE(refusal_of(4, 8).find("--batch 8, or --micro-batches 4"), std::string::npos)
      << refusal_of(4, 8);
  EXPECT_NE(refusal_of(4, 0), "");
}

/// The same question in the words of one device and in those of a cluster.
TEST(MicroBatches, are_those_of_a_cluster_of_one) {
  const Graph graph = load_model("gpt2:layers=2");
  const Cluster cluster = load_cluster("1xh200");
  PredictRequest whole = split_in(8, 1);
  const ParallelSummary one =
      ParallelModel(graph, cluster, whole).predict(parse_strategy("dp=1,micro=4"));
  const PredictionSummary alone =
      predict_model(graph, load_machine("h200"), split_in(8, 4)).summary;
  EXPECT_EQ(one.context.samples, alone.totals.samples);
  EXPECT_NEAR(one.result.time_s, alone.expected->time_s, 1e-9 * alone.expected->time_s);
  EXPECT_NEAR(one.result.low_s, alone.expected->low_s, 1e-6 * alone.expected->low_s);
  EXPECT_NEAR(one.result.high_s, alone.expected->high_s, 1e-6 * alone.expected->high_s);
  EXPECT_EQ(one.result.most_memory().total_bytes(), alone.expected->memory_bytes);
  EXPECT_NEAR(one.limit_s, alone.totals.time_s, 1e-9 * alone.totals.time_s);
}

TEST(MicroBatches, what_fits_is_a_batch_that_can_be_split) {
  PredictRequest request = split_in(3000, 3);
  const Graph graph = load_model("resnet50");
  const Machine machine = load_machine("rtx-2080-ti");
  const PredictionSummary summary = predict_model(graph, machine, request).summary;
  ASSERT_FALSE(summary.fits_device());
  const std::int64_t largest = summary.largest_batch.value();
  EXPECT_GT(largest, 3);
  EXPECT_EQ(largest % 3, 0);
  const auto fits = [&](std::int64_t batch) {
    return expected_with(graph, machine, request, BatchOf{batch}).fits();
  };
  EXPECT_TRUE(fits(largest));
  EXPECT_FALSE(fits(largest + 3));
}

TEST(MicroBatches, of_a_sweep_share_the_batch_of_the_point) {
  SweepRequest request;
  request.models = {"lenet5"};
  request.parameters = {{"on", "h200"}, {"batch", "8,9"}, {"micro-batches", "1,2,4"}};
  const Sweep sweep(request);
  const auto worker = sweep.worker();
  std::int64_t of_eight = 0, refused = 0;
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point) {
    const PointResult result = worker->at(point);
    if (!result.error.empty()) {
      EXPECT_NE(result.error.find("a batch of 9 cannot be split"), std::string::npos)
          << result.error;
      ++refused;
    } else {
      EXPECT_TRUE(result.samples == 8 || result.samples == 9);
      of_eight += result.samples == 8 ? 1 : 0;
    }
  }
  EXPECT_EQ(of_eight, 3);
  EXPECT_EQ(refused, 2);
}

/// A long axis of batches takes another road: programs of other batches.
TEST(MicroBatches, of_a_long_axis_are_those_of_a_prediction) {
  SweepRequest request;
  request.models = {"lenet5"};
  request.parameters = {{"on", "h200"}, {"batch", "4,8,12,16,20,24,28,32"}, {"micro-batches", "4"}};
  request.wants_limit = false;
  const Sweep sweep(request);
  const auto worker = sweep.worker();
  const Graph graph = load_model("lenet5");
  const Machine machine = load_machine("h200");
  ASSERT_EQ(sweep.grid().size(), 8);
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point) {
    const PointResult result = worker->at(point);
    ASSERT_EQ(result.error, "");
    EXPECT_EQ(result.samples, 4 * (point + 1));
    const PredictionSummary alone =
        predict_model(graph, machine, split_in(result.samples, 4)).summary;
    EXPECT_NEAR(result.expected.time_s, alone.expected->time_s, 1e-9 * alone.expected->time_s);
    EXPECT_EQ(result.expected.memory_bytes, alone.expected->memory_bytes);
  }
}

}  // namespace
}  // namespace strata
