// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/wiring.hpp"

#include "strata/base/error.hpp"
#include "strata/measure/engine/engine.hpp"
#include "strata/measure/engine/memory_plan.hpp"
#include "strata/measure/engine/small_network_test.hpp"
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

class ZooWiring : public ::testing::TestWithParam<std::string_view> {};

// What a part of the plan holds must not be written by another part before it was read: every two
// slots that are alive at one time lie apart.
void expect_plan_keeps_what_lives(const Wiring& wiring, const MemoryPlan& plan) {
  struct Alive {
    std::size_t first, last;
    std::int64_t begin, end;
    SlotId slot;
  };
  std::vector<Alive> alive;
  for (SlotId slot = 0; slot < wiring.slots.size(); ++slot) {
    if (!plan.places[slot] || plan.places[slot]->is_permanent) continue;
    Alive one{wiring.parts.size(), 0, plan.places[slot]->offset, 0, slot};
    one.end = one.begin + wiring.slots[slot].bytes;
    ASSERT_LE(one.end, plan.arena_bytes);
    for (std::size_t at = 0; at < wiring.parts.size(); ++at) {
      const std::vector<SlotId> touched = slots_of(wiring.parts[at]);
      if (std::find(touched.begin(), touched.end(), slot) == touched.end()) continue;
      one.first = std::min(one.first, at);
      one.last = at;
    }
    if (wiring.slots[slot].is_result) one.last = wiring.parts.size();
    alive.push_back(one);
  }
  const auto is_sum_in_place = [&](const Alive& a, const Alive& b) {
    if (a.begin != b.begin || a.last != b.first || a.last >= wiring.parts.size()) return false;
    const WiredPart& part = wiring.parts[a.last];
    return part.is_gradient_sum && part.operands[2] == b.slot;
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

TEST_P(ZooWiring, follows_the_program_and_fits_it_into_little_memory) {
  const Graph graph = with_loss(build_network(GetParam()), Loss::automatic);
  const BoundGraph bound = bound_small(graph);
  const Wiring wiring = wire(bound, {}, abilities_by_cost(bound, true));
  const Program program = make_program(
      bound, {.loss = Loss::none, .separate_backward = true, .unroll_recurrent = false});
  ASSERT_EQ(wiring.parts.size(), program.steps.size());
  for (StepId i = 0; i < program.steps.size(); ++i)
    EXPECT_EQ(wiring.parts[i].flop, program.steps[i].flop) << name_of(program, i);
  const MemoryPlan plan = plan_memory(wiring);
  EXPECT_LE(static_cast<double>(plan.arena_bytes),
            1.05 * static_cast<double>(plan.least_arena_bytes));
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooWiring, ::testing::ValuesIn(zoo_names()),
                         [](const auto& network) { return std::string(network.param); });

TEST(MemoryPlan, keeps_apart_what_lives_at_one_time) {
  for (const std::string_view name :
       {"alexnet", "resnet18", "googlenet", "transformer_base", "gnmt"}) {
    SCOPED_TRACE(name);
    const Graph graph = with_loss(build_network(name), Loss::automatic);
    const BoundGraph bound = bound_small(graph);
    const Wiring wiring = wire(bound, {}, abilities_by_cost(bound, true));
    expect_plan_keeps_what_lives(wiring, plan_memory(wiring));
  }
}

TEST(Wiring, gives_each_layer_what_it_needs) {
  const Graph graph = with_loss(build_network("alexnet"), Loss::automatic);
  const BoundGraph bound = bound_small(graph);
  const std::vector<LayerMemory> layers =
      memory_by_layer(wire(bound, {}, abilities_by_cost(bound, true)));
  ASSERT_FALSE(layers.empty());
  // AlexNet's first fully connected layer has 9216 × 4096 weights: with gradient and momentum three
  // times 151 MB.
  const NodeId first = layers.front().node;
  EXPECT_TRUE(std::holds_alternative<Linear>(graph.nodes[first].op)) << graph.nodes[first].name;
  EXPECT_GT(layers.front().bytes, std::int64_t{3} * 9216 * 4096 * 4);
}

}  // namespace
}  // namespace strata
