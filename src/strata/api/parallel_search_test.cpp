// SPDX-License-Identifier: Apache-2.0
#include "strata/api/parallel.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/parallel/repeated_blocks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

namespace strata {
namespace {

/// Products one after the other, in no blocks.
Graph row_of_products(int count) {
  std::string layers;
  for (int i = 0; i < count; ++i)
    layers += fmt::format("{}{{\"op\":\"linear\",\"features\":64}}", i > 0 ? "," : "");
  return read_network(
      fmt::format("{{\"strata_network\":1,\"inputs\":{{\"x\":[\"batch\",64]}},\"layers\":[{}]}}",
                  layers),
      "row.json");
}

PredictRequest with_batch(std::int64_t batch) {
  PredictRequest request;
  request.sizes.batch = batch;
  return request;
}

// Tensor parallelism splits products in pairs, which are left out as such.
TEST(ParallelSearch, finds_the_times_of_layers_that_recur_without_blocks) {
  const Graph row = row_of_products(41);
  const std::optional<ShortenedGraph> shortened = shorten(row);
  ASSERT_TRUE(shortened.has_value());
  EXPECT_EQ(shortened->left_out, 41 / 2 - 3);
  EXPECT_EQ(shortened->repeated.size(), 2U);
  const Cluster cluster = load_cluster("8xa100-80gb");
  ParallelModel model(row, cluster, with_batch(1024));
  const ParallelChoice choice = model.choose();
  constexpr std::size_t every = 29;
  std::size_t checked = 0;
  for (std::size_t i = 0; i < choice.search.outcomes.size(); i += every, ++checked) {
    const StrategyOutcome& one = choice.search.outcomes[i];
    const StrategyTime alone = model.planner().time_of(one.strategy);
    EXPECT_NEAR(one.time_s, alone.time_s, 1e-6 * alone.time_s) << to_text(one.strategy);
    const auto bytes = static_cast<double>(one.memory_bytes);
    EXPECT_NEAR(bytes, static_cast<double>(alone.most_memory().total_bytes()), 0.02 * bytes)
        << to_text(one.strategy);
  }
  EXPECT_GT(checked, 5U);
}

// What an encoder made and every block of a decoder reads is a second tensor between them.
TEST(ParallelSearch, leaves_out_no_blocks_between_which_two_tensors_go_on) {
  const auto streams = [](bool has_memory) {
    GraphBuilder builder("streams");
    TensorId x = builder.input("x", {8, 64});
    const TensorId memory = builder.add("memory", Linear{.features = 64}, {x});
    x = memory;
    for (int i = 0; i < 9; ++i) {
      const GraphBuilder::Scope block(builder, fmt::format("layers.{}", i));
      const TensorId y = builder.add("linear", Linear{.features = 64}, {x});
      x = builder.add("sum", Elementwise{}, {y, has_memory ? memory : x});
    }
    builder.output(x);
    return std::move(builder).finish();
  };
  EXPECT_FALSE(shorten(streams(true)).has_value());
  const auto shortened = shorten(streams(false));
  ASSERT_TRUE(shortened.has_value());
  EXPECT_EQ(shortened->left_out, 6);
}

TEST(ParallelSearch, says_what_it_leaves_out_because_it_would_take_long) {
  const Graph row = row_of_products(41);
  const Cluster cluster = load_cluster("8xa100-80gb");
  ParallelModel model(row, cluster, with_batch(1024));
  SearchSpace space;
  const StrategySearch all = model.choose(space).search;
  space.most_passes = 20'000;
  const StrategySearch few = model.choose(space).search;
  EXPECT_LT(few.outcomes.size(), all.outcomes.size());
  const auto says_so = [](const StrategySearch& search) {
    return std::any_of(search.refused.begin(), search.refused.end(), [](const std::string& reason) {
      return reason.find("strategies are left out") != std::string::npos;
    });
  };
  EXPECT_TRUE(says_so(few));
  EXPECT_FALSE(says_so(all));
}

// 11 divides neither the features nor the batch; 4 places to cut are too few.
TEST(ParallelSearch, names_a_batch_where_no_strategy_goes_with_the_devices) {
  const Graph row = row_of_products(4);
  const Cluster cluster = load_cluster("11xa100-80gb");
  try {
    ParallelModel(row, cluster, with_batch(64)).choose();
    ADD_FAILURE() << "a strategy";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("--batch 66 "), std::string::npos) << error.what();
  }
  EXPECT_FALSE(ParallelModel(row, cluster, with_batch(66)).choose().search.outcomes.empty());
}

}  // namespace
}  // namespace strata
