// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/training/graph_counts_test.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

// Every built-in network, against counts that do not come from the making of programs.
namespace strata {
namespace {

struct Case {
  std::string name;
  TrainingOptions options;
};

std::vector<Case> option_cases() {
  return {{"default", {}},
          {"no optimizer, no loss", {.optimizer = Optimizer::none, .loss = Loss::none}},
          {"inference", {.inference = true}},
          {"apart", {.loss = Loss::squared_error, .separate_backward = true}},
          {"adam, pool keeps input", {.optimizer = Optimizer::adam, .pool_keeps_input = true}},
          {"one step per recurrent layer", {.unroll_recurrent = false}},
          {"micro-batches", {.micro_batches = 2}}};
}

BoundGraph bind_small(const Graph& graph) {
  Binding sizes;
  for (const Parameter& parameter : graph.symbols.parameters()) {
    if (parameter.name == "batch") sizes["batch"] = 3;
    if (parameter.name == "seq") sizes["seq"] = 4;
  }
  return bind_graph(graph, sizes);
}

class ZooProgram : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ZooProgram, is_sound_and_does_the_work_of_the_graph) {
  const Graph graph = build_network(GetParam());
  const BoundGraph bound = bind_small(graph);
  for (const Case& one : option_cases()) {
    SCOPED_TRACE(one.name);
    const Program program = make_program(bound, one.options);
    graph_counts::expect_sound(program);
    graph_counts::expect_work_of_graph(program, bound, one.options);
  }
}

TEST_P(ZooProgram, computes_again_what_it_does_not_keep) {
  Graph graph = build_network(GetParam());
  graph.recurrent_order = RecurrentOrder::layer_major;
  const BoundGraph bound = bind_small(graph);
  const Program by_default = make_program(bound);
  for (const Recompute recompute : {Recompute::all, Recompute::blocks}) {
    const Program program = make_program(bound, {.recompute = recompute});
    EXPECT_EQ(problems_of(program), std::vector<std::string>{});
    std::int64_t extra = 0, all = 0, once = 0;
    for (const Step& step : program.steps) {
      all += step.flop;
      if (step.is_recomputed) extra += step.flop;
    }
    for (const Step& step : by_default.steps) once += step.flop;
    EXPECT_EQ(all - extra, once);
  }
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> names;
  for (const Network& network : networks()) names.push_back(network.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooProgram, ::testing::ValuesIn(names()),
                         [](const auto& network) { return std::string(network.param); });

/// The most that a feature-map step of backward has on chip at once.
std::int64_t largest_backward_step(std::string_view network) {
  const Graph graph = build_network(network);
  const BoundGraph bound = bind_graph(graph, {{"batch", 32}});
  const Program program = make_program(bound, {.optimizer = Optimizer::none, .loss = Loss::none});
  std::int64_t most = 0;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (program.steps[id].pass != Pass::backward) continue;
    std::int64_t bytes = 0;
    for (const Use& use : program.uses_of(id)) bytes += program.values[use.value].bytes;
    most = std::max(most, bytes);
  }
  return most;
}

// Complete adjacent reuse needs three of the largest maps (X, dY and dX of a normalisation) and its
// parameters, their gradients and statistics: 294 and 441 MB; the thesis says 296 and 442.
TEST(ThesisNetworks, need_three_of_their_largest_maps) {
  const auto need = [](std::int64_t map, std::int64_t channels) {
    const std::int64_t scale_and_gradients = 3, statistics = 2;  // γ, dγ and dβ; mean and 1/σ
    return 4 * (3 * map + channels * (scale_and_gradients + statistics));
  };
  EXPECT_EQ(largest_backward_step("resnet50_keras"), need(32 * 56 * 56 * 256, 256));
  EXPECT_EQ(largest_backward_step("mobilenet_v2_keras"), need(32 * 112 * 112 * 96, 96));
}

// What is dropped inside a block is not kept until backward.
TEST(Recomputation, keeps_less) {
  const Graph graph = build_network("resnet50");
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  const auto kept = [&](Recompute recompute) {
    const Program program = make_program(bound, {.loss = Loss::none, .recompute = recompute});
    StepId backward = 0;
    while (program.steps[backward].pass == Pass::forward) ++backward;
    std::vector<bool> is_made(program.values.size(), false), is_counted = is_made;
    std::int64_t bytes = 0;
    for (StepId id = 0; id < program.steps.size(); ++id) {
      for (const Use& use : program.uses_of(id)) {
        const Value& value = program.values[use.value];
        if (value.kind != ValueKind::feature && value.kind != ValueKind::saved) continue;
        if (id < backward) is_made[use.value] = true;
        if (id < backward || !use.reads || !is_made[use.value] || is_counted[use.value]) continue;
        is_counted[use.value] = true;
        bytes += value.bytes;
      }
    }
    return bytes;
  };
  const std::int64_t all = kept(Recompute::none);
  EXPECT_LT(kept(Recompute::blocks), all / 2);
  EXPECT_LT(kept(Recompute::all), all / 2);
}

TEST(Recomputation, does_not_go_with_time_major_order) {
  const Graph graph = build_network("lstm_stack:layers=2,hidden=4,features=4,order=time");
  const BoundGraph bound = bind_graph(graph, {{"seq", 3}});
  EXPECT_THROW(make_program(bound, {.recompute = Recompute::all}), Error);
}

}  // namespace
}  // namespace strata
