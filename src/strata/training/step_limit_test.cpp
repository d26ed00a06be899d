// SPDX-License-Identifier: Apache-2.0
#include "strata/training/step_limit.hpp"

#include "strata/base/error.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace strata {
namespace {

TEST(StepLimit, counts_no_more_steps_than_there_are_and_not_far_fewer) {
  for (const char* name : {"lenet5", "resnet18", "lstm", "lstm_stack", "gnmt", "bert_base"}) {
    const Graph graph = build_network(name);
    Binding sizes = {{"batch", 2}};
    for (const Parameter& parameter : graph.symbols.parameters()) {
      if (parameter.name == "seq") sizes["seq"] = 12;
    }
    const BoundGraph bound = bind_graph(graph, sizes);
    for (const bool inference : {false, true}) {
      for (const std::int64_t micro_batches : {1, 3}) {
        const TrainingOptions options{.inference = inference, .micro_batches = micro_batches};
        const auto steps = static_cast<std::int64_t>(make_program(bound, options).steps.size());
        EXPECT_LE(least_steps(bound, options), steps) << name;
        EXPECT_GE(8 * least_steps(bound, options), steps) << name;
      }
    }
  }
}

TEST(StepLimit, counts_nearly_all_steps_of_recurrent_layers) {
  const Graph graph = build_network("lstm_stack");
  const BoundGraph bound = bind_graph(graph, {{"batch", 1}, {"seq", 100}});
  const auto steps = static_cast<std::int64_t>(make_program(bound, {}).steps.size());
  EXPECT_LE(least_steps(bound, {}), steps);
  EXPECT_GE(least_steps(bound, {}), steps * 9 / 10);
}

TEST(StepLimit, says_the_number_and_what_to_change_before_it_lays_out_anything) {
  const Graph graph = build_network("lstm");
  const BoundGraph bound = bind_graph(graph, {{"batch", 1}, {"seq", 50'000'000}});
  try {
    make_program(bound, {});
    ADD_FAILURE() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("steps, and at most 1000000 are planned"),
              std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("--seq"), std::string::npos);
  }
  // An LSTM of 300,000 steps would take 6 GB.
  EXPECT_THROW(make_program(bind_graph(graph, {{"batch", 1}, {"seq", 300'000}})), Error);
  const BoundGraph small = bind_graph(graph, {{"batch", 1}, {"seq", 4}});
  EXPECT_THROW(make_program(small, {.micro_batches = std::int64_t{1} << 60}), Error);
  EXPECT_EQ(least_steps(small, {.micro_batches = std::int64_t{1} << 62}),
            std::numeric_limits<std::int64_t>::max())
      << "beyond 64 bits";
}

// The first round says how many steps all have, however few the lower bound knows of.
TEST(StepLimit, counts_the_steps_of_all_micro_batches_after_the_first) {
  const Graph graph = build_network("lenet5");
  const BoundGraph bound = bind_graph(graph, {{"batch", 1}});
  const TrainingOptions options{.micro_batches = 100'000};
  ASSERT_LE(least_steps(bound, options), most_steps);
  const auto of_one = static_cast<std::int64_t>(make_program(bound).steps.size());
  try {
    make_program(bound, options);
    ADD_FAILURE() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("--micro-batches"), std::string::npos);
    const std::string words = "has at least ";
    const std::string text = error.what();
    const std::int64_t said = std::stoll(text.substr(text.find(words) + words.size()));
    EXPECT_GT(said, (of_one - 20) * 100'000) << text;  // the updates are once for all
    EXPECT_LE(said, of_one * 100'000) << text;
  }
}

}  // namespace
}  // namespace strata
