// SPDX-License-Identifier: Apache-2.0
#include "strata/training/reuse.hpp"

#include "strata/graph/builder.hpp"
#include "strata/training/random_program_test.hpp"
#include "strata/training/synthetic.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace strata {
namespace {

using Pair = std::tuple<ValueId, StepId, StepId>;

// Looks back from every read, step by step, for the last step that used the value.
std::set<Pair> pairs_by_search(const Program& program) {
  std::set<Pair> pairs;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    for (const Use& use : program.uses_of(step)) {
      if (!use.reads) continue;
      for (StepId back = step; back-- > 0;) {
        bool is_found = false;
        for (const Use& earlier : program.uses_of(back)) is_found |= earlier.value == use.value;
        if (!is_found) continue;
        pairs.insert({use.value, back, step});
        break;
      }
    }
  }
  return pairs;
}

std::set<Pair> pairs_of(const Program& program, const std::vector<ReuseInterval>& intervals) {
  std::set<Pair> pairs;
  for (const ReuseInterval& interval : intervals) {
    const ValueId value = program.uses[interval.use].value;
    EXPECT_EQ(program.uses[interval.next_use].value, value);
    EXPECT_TRUE(pairs.insert({value, interval.step, interval.next_step}).second);
  }
  return pairs;
}

TEST(Reuse, finds_every_pair_of_uses) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Program program =
        random_programs::any_program(seed, {.most_steps = 20, .most_values = 8});
    EXPECT_EQ(pairs_of(program, reuse_intervals(program)), pairs_by_search(program));
  }
}

// The scopes as the method has them, written down once more, without an order of precedence.
bool is_forward(const Step& step) { return step.pass == Pass::forward && !step.is_recomputed; }
bool fits(const Program& program, const ReuseInterval& interval, ReuseScope scope) {
  const Step& from = program.steps[interval.step];
  const Step& to = program.steps[interval.next_step];
  const ValueKind kind = program.values[program.uses[interval.use].value].kind;
  const bool is_weight = kind == ValueKind::weight || kind == ValueKind::weight_gradient;
  switch (scope) {
    case ReuseScope::recurrent:
      return is_weight && from.node == to.node && from.time * to.time > 0 && from.time != to.time &&
             is_forward(from) == is_forward(to);
    case ReuseScope::forward_backward: return is_forward(from) && !is_forward(to);
    case ReuseScope::adjacent: return interval.next_step - interval.step == 1;
    case ReuseScope::block: return true;
  }
  return false;
}

TEST(Reuse, has_one_scope_each_by_precedence) {
  for (const char* network : {"resnet18", "lstm_stack:layers=2,hidden=8,features=8",
                              "gnmt_thesis:layers=2,hidden=8", "transformer_thesis:layers=1"}) {
    const Graph graph = build_network(network);
    Binding sizes{{"batch", 2}};
    if (std::string_view(network) != "resnet18") sizes["seq"] = 5;
    const BoundGraph bound = bind_graph(graph, sizes);
    const Program program = make_program(bound);
    const std::vector<ReuseInterval> intervals = reuse_intervals(program);
    std::map<ReuseScope, std::int64_t> bytes;
    for (const ReuseInterval& interval : intervals) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(interval.scope); ++i)
        EXPECT_FALSE(fits(program, interval, static_cast<ReuseScope>(i)));
      EXPECT_TRUE(fits(program, interval, interval.scope));
      bytes[interval.scope] += program.values[program.uses[interval.use].value].bytes;
    }
    const auto offered = offered_bytes(program, intervals);
    for (std::size_t i = 0; i < reuse_scopes; ++i)
      EXPECT_EQ(offered[i], bytes[static_cast<ReuseScope>(i)]);
    EXPECT_EQ(offered[0] > 0, program.steps[0].time > 0);  // recurrent layers come first in theirs
    EXPECT_GT(offered[1], 0);
    EXPECT_GT(offered[2], 0);
    EXPECT_GT(offered[3], 0);
  }
}

// Each weight of an LSTM is read T times each way and its gradient touched T times.
TEST(Reuse, of_recurrent_weights_is_t_minus_1_times_their_size) {
  const Graph graph = build_network("lstm");
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}, {"seq", 9}});
  const Program program = make_program(bound, {.optimizer = Optimizer::none, .loss = Loss::none});
  std::int64_t weights = 0;
  for (const Value& value : program.values)
    weights += value.kind == ValueKind::weight ? value.bytes : 0;
  const std::int64_t state_matrix = 4 * 64 * 16;
  const auto offered = offered_bytes(program, reuse_intervals(program));
  // Forward: all; backward: W_hh (no gradient of the input is wanted), and all gradients.
  EXPECT_EQ(offered[static_cast<std::size_t>(ReuseScope::recurrent)],
            8 * (weights + state_matrix + weights));
}

struct Residual {
  Graph graph;
  BoundGraph bound;
  Residual() {
    GraphBuilder b("residual");
    const TensorId x = b.input("x", {8, 4});
    const TensorId h = b.add("fc1", Linear{.features = 4, .bias = false}, {x});
    const TensorId z = b.add("fc2", Linear{.features = 4, .bias = false}, {h});
    const TensorId r = b.add("relu", Unary{}, {z});
    b.add("add", Elementwise{}, {r, h});
    graph = std::move(b).finish();
    bound = bind_graph(graph, {});
  }
};

TEST(LayerReuse, follows_the_formulas) {
  const Residual net;
  const Program program =
      make_program(net.bound, {.optimizer = Optimizer::none, .loss = Loss::none});
  const std::vector<LayerReuse> layers = layer_reuse(program, reuse_intervals(program));
  ASSERT_EQ(layers.size(), 4U);
  constexpr std::int64_t map = 8 * 4 * 4, weight = 4 * 4 * 4;
  const LayerReuse& fc2 = layers[1];
  EXPECT_EQ(fc2.forward.adjacent_bytes, 2 * map + weight);       // X, Y, W
  EXPECT_EQ(fc2.backward.adjacent_bytes, 3 * map + 2 * weight);  // X, dY, dX, W, dW
  EXPECT_EQ(layers[2].forward.block_bytes, 3 * map);             // relu, with h passing by
  EXPECT_EQ(layers[2].forward.adjacent_bytes, 2 * map);
  EXPECT_EQ(fc2.backward.block_bytes, 4 * map + 2 * weight);  // and the gradient of the sum
  EXPECT_EQ(fc2.forward.flop, 2 * 8 * 4 * 4);
  EXPECT_DOUBLE_EQ(fc2.forward.frequency(), 2.0 * 8 * 4 * 4 / (2 * map + weight));
  EXPECT_EQ(fc2.recurrent_bytes, 0);
  // x stays with fc1, which reads it first, beside h; relu's output for its own backward.
  EXPECT_EQ(layers[0].forward_backward_bytes, 2 * map);
  EXPECT_EQ(fc2.forward_backward_bytes, weight);
  EXPECT_EQ(layers[2].forward_backward_bytes, map);
  EXPECT_EQ(layers[3].forward_backward_bytes, 0);
}

TEST(LayerReuse, of_a_cell_is_all_that_one_time_step_touches) {
  const Graph graph = build_network("lstm");
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}, {"seq", 3}});
  const Program program = make_program(bound, {.inference = true});
  const LayerReuse layer = layer_reuse(program, reuse_intervals(program)).at(0);
  constexpr std::int64_t state = 2 * 16 * 4, x = 2 * 32 * 4;
  constexpr std::int64_t weights = 4 * (64 * 32 + 64 * 16 + 2 * 64);
  // x, h before and after, c before and after; 4 gates before and after; f·c, i·g, tanh c.
  EXPECT_EQ(layer.recurrent_bytes, weights + x + 4 * state + 8 * state + 3 * state);
}

TEST(Reuse, of_a_long_chain_is_found_in_linear_time) {
  const Program program = chain_program(100000);
  EXPECT_EQ(problems_of(program), std::vector<std::string>{});
  EXPECT_EQ(program.steps.size(), 100000U);
  const std::vector<ReuseInterval> intervals = reuse_intervals(program);
  // Each feature goes on and comes back, each weight comes back, each gradient goes on; x comes
  // back too, the last feature does not and the first gradient is given.
  EXPECT_EQ(intervals.size(), 4U * 50000 - 1 - 1);
  EXPECT_TRUE(layer_reuse(program, intervals).empty());
}

}  // namespace
}  // namespace strata
