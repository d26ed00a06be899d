// SPDX-License-Identifier: Apache-2.0
// The product in a minute: each test is one road through Strata, in about ten lines. Read them
// first.
#include "strata/graph/builder.hpp"
#include "strata/strata.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

TEST(Tour, from_a_built_in_network_to_its_cost) {
  const Graph graph = load_model("resnet50");
  const BoundGraph bound = bind_model(graph, {.batch = 1});
  const ModelSummary summary = summarize(bound);

  EXPECT_EQ(summary.totals.parameters, 25'557'032);  // as torchvision publishes it
  EXPECT_EQ(summary.layers.front().op, "convolution");
  EXPECT_EQ(summary.layers.front().output_shape, (std::vector<std::int64_t>{1, 64, 112, 112}));
  EXPECT_GT(summary.totals.backward_flop(), summary.totals.forward.flop);
}

TEST(Tour, from_a_network_of_your_own_to_the_cost_of_a_node) {
  GraphBuilder builder("mine");
  const Dim batch = builder.symbols().parameter("batch");
  const TensorId image = builder.input("image", {batch, 3, 32, 32});
  const TensorId features =
      builder.add("conv", Convolution{.channels = 8, .kernel = {3, 3}}, {image});
  builder.output(builder.add("relu", Unary{UnaryKind::relu}, {features}));
  const Graph graph = std::move(builder).finish();

  const NodeCost cost = cost_of(bind_model(graph, {.batch = 2}), 0);
  EXPECT_EQ(cost.forward.mac, 2 * 8 * 30 * 30 * 3 * 3 * 3);  // samples, filters, pixels, window
}

TEST(Tour, one_graph_serves_every_batch_size_and_data_type) {
  const Graph graph = load_model("gpt2");
  const ModelSummary one = summarize(bind_model(graph, {.batch = 1, .sequence = 128}));
  const ModelSummary eight =
      summarize(bind_model(graph, {.batch = 8, .sequence = 128, .dtype = DType::bf16}));

  EXPECT_EQ(eight.totals.forward.mac, 8 * one.totals.forward.mac);
  EXPECT_EQ(eight.totals.parameters, one.totals.parameters);
  EXPECT_EQ(2 * eight.parameter_bytes, one.parameter_bytes);
}

TEST(Tour, from_a_summary_to_what_people_and_programs_read) {
  const Graph graph = load_model("lenet5");
  const ModelSummary summary = summarize(bind_model(graph));

  EXPECT_NE(to_text(summary, {.by = GroupBy::type}, {}).find("convolution"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(summary, {.command = "tour"}))["model"]["name"],
            "lenet5");
  EXPECT_EQ(to_csv(summary, {}).find("name,op,"), 0U);
  EXPECT_EQ(to_dot(summary).find("digraph"), 0U);
}

TEST(Tour, from_a_network_to_the_time_of_an_iteration) {
  const Graph graph = load_model("resnet18");
  PredictRequest request;
  request.sizes.batch = 8;
  set_option(request, "capacity", "64MiB");
  const PredictionSummary summary =
      predict_model(graph, load_machine("rtx-2080-ti"), request).summary;

  EXPECT_GE(summary.totals.time_s, summary.bounds->time_s);
  EXPECT_GE(summary.bounds->time_s, summary.totals.compute_time_s);
  EXPECT_EQ(summary.profile.rows.front().layer, "conv1");
  EXPECT_EQ(summary.by_type.front().name, "convolution");
}

TEST(Tour, a_mistake_is_an_error_that_says_what_to_do) {
  try {
    load_model("resnet5");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("did you mean resnet50"), std::string::npos);
  }
}

}  // namespace
}  // namespace strata
