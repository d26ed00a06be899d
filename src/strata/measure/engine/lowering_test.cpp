// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/lowering.hpp"

#include "strata/cost/naive_check_test.hpp"
#include "strata/graph/builder.hpp"
#include "strata/measure/engine/engine.hpp"
#include "strata/measure/engine/memory_plan.hpp"
#include "strata/measure/engine/small_network_test.hpp"
#include "strata/measure/engine/symbolic_run_test.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace strata {
namespace {

std::vector<std::string_view> zoo_names() {
  std::vector<std::string_view> names;
  for (const Network& network : networks()) names.push_back(network.name);
  return names;
}

LoweredProgram small_program(const BoundGraph& bound) {
  return lower_program(runnable_program(bound, {}), abilities_by_cost(bound, true));
}

class ZooLowering : public ::testing::TestWithParam<std::string_view> {};

// What a part of the plan holds must not be written by another part before it was read: every two
// slots that are alive at one time lie apart.
void expect_plan_keeps_what_lives(const LoweredProgram& program, const MemoryPlan& plan) {
  struct Alive {
    std::size_t first, last;
    std::int64_t begin, end;
    SlotId slot;
  };
  std::vector<Alive> alive;
  for (SlotId slot = 0; slot < program.slots.size(); ++slot) {
    if (!plan.places[slot] || plan.places[slot]->is_permanent) continue;
    Alive one{program.steps.size(), 0, plan.places[slot]->offset, 0, slot};
    one.end = one.begin + program.slots[slot].bytes;
    ASSERT_LE(one.end, plan.arena_bytes);
    for (std::size_t at = 0; at < program.steps.size(); ++at) {
      const std::vector<SlotId> touched = slots_of(program.steps[at]);
      if (std::find(touched.begin(), touched.end(), slot) == touched.end()) continue;
      one.first = std::min(one.first, at);
      one.last = at;
    }
    if (program.slots[slot].is_result) one.last = program.steps.size();
    alive.push_back(one);
  }
  const auto is_sum_in_place = [&](const Alive& a, const Alive& b) {
    if (a.begin != b.begin || a.last != b.first || a.last >= program.steps.size()) return false;
    const LoweredStep& step = program.steps[a.last];
    return step.is_gradient_sum && step.operands[2] == b.slot;
  };
  for (std::size_t i = 0; i < alive.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Alive &a = alive[i], &b = alive[k];
      const bool at_one_time = a.first <= b.last && b.first <= a.last;
      const bool in_one_place = a.begin < b.end && b.begin < a.end;
      if (!at_one_time || !in_one_place) continue;
      EXPECT_TRUE(is_sum_in_place(a, b) || is_sum_in_place(b, a))
          << "slots " << a.slot << " and " << b.slot;
    }
  }
}

TEST_P(ZooLowering, keeps_the_work_and_fits_it_into_little_memory) {
  const Graph graph = with_loss(build_network(GetParam()), Loss::automatic);
  const BoundGraph bound = bound_small(graph);
  const Program program = runnable_program(bound, {});
  const std::vector<NodeAbility> abilities = abilities_by_cost(bound, true);
  const LoweredProgram lowered = lower_program(program, abilities);
  ASSERT_EQ(lowered.steps.size(), program.steps.size());
  for (StepId i = 0; i < program.steps.size(); ++i)
    EXPECT_EQ(lowered.steps[i].flop, program.steps[i].flop) << name_of(program, i);
  const MemoryPlan plan = plan_memory(lowered);
  EXPECT_LE(static_cast<double>(plan.arena_bytes),
            1.05 * static_cast<double>(plan.least_arena_bytes));
}

TEST_P(ZooLowering, gives_every_step_the_right_operands) {
  const Graph graph = with_loss(build_network(GetParam()), Loss::automatic);
  const BoundGraph bound = bound_small(graph);
  const std::vector<NodeAbility> abilities = abilities_by_cost(bound, true);
  const LoweredProgram lowered = lower_program(runnable_program(bound, {}), abilities);
  symbolic::Run run(bound, lowered, abilities);
  run.iterate();
  run.expect_results();
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooLowering, ::testing::ValuesIn(zoo_names()),
                         [](const auto& network) { return std::string(network.param); });

TEST(MemoryPlan, keeps_apart_what_lives_at_one_time) {
  for (const std::string_view name :
       {"alexnet", "resnet18", "googlenet", "transformer_base", "gnmt"}) {
    SCOPED_TRACE(name);
    const Graph graph = with_loss(build_network(name), Loss::automatic);
    const BoundGraph bound = bound_small(graph);
    const LoweredProgram program = small_program(bound);
    expect_plan_keeps_what_lives(program, plan_memory(program));
  }
}

TEST(Lowering, gives_each_layer_what_it_needs) {
  const Graph graph = with_loss(build_network("alexnet"), Loss::automatic);
  const BoundGraph bound = bound_small(graph);
  const std::vector<LayerMemory> layers = memory_by_layer(small_program(bound));
  ASSERT_FALSE(layers.empty());
  // AlexNet's first fully connected layer has 9216 × 4096 weights: with gradient and momentum three
  // times 151 MB.
  const NodeId first = layers.front().node;
  EXPECT_TRUE(std::holds_alternative<Linear>(graph.nodes[first].op)) << graph.nodes[first].name;
  EXPECT_GT(layers.front().bytes, std::int64_t{3} * 9216 * 4096 * 4);
}

/// A random network of tensors [2, 4] with all that makes lowering hard: weights of several layers
/// and weights that are operands, values used twice by one node, reshapes, gradients that are the
/// same memory, outputs that nothing reads.
class TangledNetwork {
 public:
  explicit TangledNetwork(naive::Random& random) : random_(random), builder_("tangled") {
    made_.push_back(builder_.input("x", {2, 4}));
    tokens_ = builder_.input("tokens", {2, 2}, DType::int64);
    for (int i = 0; i < 2; ++i) made_.push_back(builder_.stored("p" + std::to_string(i), {2, 4}));
  }

  Graph graph() && {
    for (std::int64_t i = random_.between(2, 14); i > 0; --i) {
      name_ = "n" + std::to_string(i);
      made_.push_back(next());
    }
    builder_.output(made_.back());
    for (std::int64_t i = random_.between(0, 2); i > 0; --i) builder_.output(any());
    return std::move(builder_).finish();
  }

 private:
  TensorId any() { return made_[random_.between(0, static_cast<std::int64_t>(made_.size()) - 1)]; }

  TensorId add(std::string_view suffix, const Operator& op,
               std::initializer_list<TensorId> inputs) {
    return builder_.add(name_ + std::string(suffix), op, inputs);
  }

  TensorId next() {
    switch (random_.between(0, 9)) {
      case 0: return add("", Unary{UnaryKind::tanh}, {any()});
      case 1: return add("", Dropout{}, {any()});
      case 2: return add("", Elementwise{ElementwiseKind::multiply}, {any(), any()});
      case 3: return linear();
      case 4: return add("", Reshape{{2, 4}}, {any()});
      case 5: return halves();
      case 6: return recurrent();
      case 7: return add("", Flatten{1}, {add(".rows", Embedding{5, 2}, {tokens_})});
      default: return add("", Elementwise{}, {any(), any()});
    }
  }

  // Often with the weight of the layer before.
  TensorId linear() {
    const std::vector<TensorId> inputs{any()};
    if (!own_.empty() && random_.coin())
      return builder_.output_of(builder_.add_node(name_, Linear{4}, inputs, own_));
    const TensorId made = builder_.add(name_, Linear{4}, inputs);
    own_ = {builder_.own_of(made, 0), builder_.own_of(made, 1)};
    return made;
  }

  // Sometimes one half, or a slice, is not read.
  TensorId halves() {
    const std::vector<TensorId> inputs{any()};
    const NodeId split = builder_.add_node(name_ + ".split", Split{.axis = 1, .parts = 2}, inputs);
    const TensorId left = builder_.output_of(split, 0);
    const TensorId right = builder_.output_of(split, 1);
    const TensorId slice = add(".slice", Slice{{1}, {1}, {3}, {}}, {any()});
    switch (random_.between(0, 3)) {
      case 0: return add("", Concat{1}, {right, left});
      case 1: return add("", Concat{1}, {right, add(".rounded", Unary{UnaryKind::round}, {left})});
      case 2: return add("", Concat{1}, {slice, left});
      default: {
        const TensorId sum = add(".sum", Elementwise{}, {left, right});
        return add("", Concat{1}, {sum, slice});
      }
    }
  }

  // Of its three outputs two are not read.
  TensorId recurrent() {
    const TensorId rows = add(".rows", Reshape{{2, 2, 2}}, {any()});
    const std::vector<TensorId> inputs{rows};
    const NodeId made = builder_.add_node(name_ + ".lstm", Recurrent{.hidden = 2}, inputs);
    return add("", Reshape{{2, 4}}, {builder_.output_of(made, 0)});
  }

  naive::Random& random_;
  GraphBuilder builder_;
  TensorId tokens_ = 0;
  std::vector<TensorId> made_, own_;
  std::string name_;
};

std::vector<NodeAbility> random_abilities(const BoundGraph& bound, naive::Random& random,
                                          bool all_run) {
  std::vector<NodeAbility> abilities = abilities_by_cost(bound, true);
  for (NodeAbility& ability : abilities) {
    ability.runs = all_run || !random.rarely(5);
    ability.needs = {.inputs = random.coin(),
                     .outputs = random.coin(),
                     .saved_bytes = 64 * random.between(0, 1),
                     .scratch_bytes = 128 * random.between(0, 1),
                     .backward_is_one = random.coin()};
    if (!ability.runs) ability.needs = {};
  }
  return abilities;
}

TEST(Lowering, gives_every_step_of_random_networks_the_right_operands) {
  std::size_t shared = 0, zeros = 0, joined = 0, added = 0;
  naive::for_random_cases(1500, [&](naive::Random& random) {
    const Graph graph = TangledNetwork(random).graph();
    const BoundGraph bound = bind_graph(graph, {});
    const std::vector<NodeAbility> abilities = random_abilities(bound, random, random.coin());
    const Program program = runnable_program(bound, {});
    ASSERT_EQ(problems_of(program), std::vector<std::string>{});
    const LoweredProgram lowered = lower_program(program, abilities);
    symbolic::Run run(bound, lowered, abilities);
    for (int i = 0; i < 2; ++i) {  // nothing may be left of the first iteration
      run.iterate();
      run.expect_results();
    }
    for (const SharedOperand& operand : program.shared_operands)
      ++(operand.value == no_value ? zeros : shared);
    joined += program.steps.size() - lowered.steps.size();
    for (const LoweredStep& step : lowered.steps) added += step.accumulations.size();
  });
  for (const std::size_t seen : {shared, zeros, joined, added}) EXPECT_GT(seen, 50U);
}

}  // namespace
}  // namespace strata
