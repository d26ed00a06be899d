// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/exchanges.hpp"

#include "strata/parallel/rank_memory.hpp"
#include "strata/parallel/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace strata {
namespace {

Cluster two_nodes(double inside = 400e9, double between = 50e9) {
  Cluster cluster;
  cluster.devices_per_node = 8;
  cluster.nodes = 2;
  cluster.inside = {.bytes_per_s = inside, .reached_bytes_per_s = inside, .hop_s = 1e-6};
  cluster.between = {.bytes_per_s = between, .reached_bytes_per_s = between, .hop_s = 3e-6};
  return cluster;
}

/// Every rank passes what it got last to its neighbour; the ring ends when all have had every
/// share. Attention on a share begins when both the share and the device are there.
double ring_by_hand(int ranks, double busy_s, double transfer_s) {
  double device_s = 0, arrives_s = 0;
  for (int step = 0; step < ranks; ++step) {
    const double begin_s = std::max(device_s, arrives_s);
    arrives_s = begin_s + transfer_s;  // the next share leaves while this one is worked on
    device_s = begin_s + busy_s / ranks;
  }
  return device_s;
}

TEST(Exchanges, a_ring_is_hidden_behind_attention_as_far_as_it_goes) {
  for (const int ranks : {2, 4, 8}) {
    const Strategy strategy = parse_strategy("cp=" + std::to_string(ranks));
    const double bytes = 64e6, transfer_s = ring_step_time_s(two_nodes(), strategy.context_group(),
                                                             bytes / ranks);
    for (const double busy_s : {0.0, 1e-4, 1e-3, 1e-2}) {
      const LinkUse use = ring_exchange(two_nodes(), strategy, bytes, busy_s, false);
      EXPECT_NEAR(busy_s + use.time_s, ring_by_hand(ranks, busy_s, transfer_s), 1e-12);
      EXPECT_NEAR(use.sent_bytes, bytes * (ranks - 1) / ranks, 1e-6);
      EXPECT_NEAR(use.time_s + use.hidden_s, (ranks - 1) * transfer_s, 1e-12);
      EXPECT_NEAR(ring_exchange(two_nodes(), strategy, bytes, busy_s, true).sent_bytes,
                  2 * bytes * (ranks - 1) / ranks, 1e-6);
    }
  }
}

// Jacobs et al. 2023: of a sequence of N words with h features, each of P ranks sends 3Nh/P for
// queries, keys and values, Nh/P for the result; the part for itself stays.
TEST(Exchanges, positions_are_exchanged_for_heads) {
  const double of_sequence = 64e6;  // N·h in 16 bits
  const std::array<double, 4> alike = {of_sequence, of_sequence, of_sequence, of_sequence};
  for (const int ranks : {2, 4, 8}) {
    const Strategy strategy = parse_strategy("exchange=all-to-all,cp=" + std::to_string(ranks));
    const double sent = 4 * of_sequence / ranks * (ranks - 1) / ranks;
    const LinkUse use = head_exchange(two_nodes(), strategy, alike);
    EXPECT_NEAR(use.sent_bytes, sent, 1e-6);
    // Four all-to-alls, each with its start.
    EXPECT_NEAR(use.time_s,
                4 * collective_time_s(two_nodes(), strategy.context_group(),
                                      CollectiveKind::all_to_all, of_sequence / ranks),
                1e-12);
    EXPECT_GT(use.time_s, sent / 400e9);
  }
}

TEST(Exchanges, words_go_to_the_experts_of_other_ranks) {
  // All to all in a node: 7/8 of the bytes over its link.
  const LinkUse inside = expert_exchange(two_nodes(), parse_strategy("dp=16,ep=8"), 80e6);
  EXPECT_NEAR(inside.sent_bytes, 70e6, 1e-6);
  EXPECT_NEAR(inside.time_s, 52e-6 + 7e-6 + 70e6 / 400e9, 1e-12);
  // Over two nodes half of them leave, by the rank's own share of the NICs.
  const LinkUse both = expert_exchange(two_nodes(), parse_strategy("dp=16,ep=16"), 80e6);
  EXPECT_NEAR(both.sent_bytes, 75e6, 1e-6);
  EXPECT_NEAR(both.time_s, 52e-6 + 7e-6 + 24e-6 + 40e6 / 50e9, 1e-12);
  // With sequence parallelism a rank of four sends a quarter.
  EXPECT_NEAR(
      expert_exchange(two_nodes(), parse_strategy("dp=4,tp=4,ep=4,sp=yes"), 80e6).sent_bytes, 15e6,
      1e-6);
}

constexpr std::int64_t dense_weights = 3'000'000,
                       expert_weights = 5'000'000;  // parameters of a unit

/// Units with weights of experts, in 16 bits with Adam, and nothing else.
RankCosts units_with_experts() {
  RankCosts costs;
  for (int i = 0; i < 6; ++i) {
    WeightCost experts{.parameters = expert_weights,
                       .tensors = 3,
                       .weight_bytes = 2 * expert_weights,
                       .gradient_bytes = 2 * expert_weights,
                       .state_bytes = 12 * expert_weights};
    UnitCost unit;
    unit.forward = Section::call(0, 1e-3);
    unit.backward = Section::call(0, 2e-3);
    unit.experts = experts;
    unit.add(experts);
    unit.add({.parameters = dense_weights,
              .tensors = 5,
              .weight_bytes = 2 * dense_weights,
              .gradient_bytes = 2 * dense_weights,
              .state_bytes = 12 * dense_weights});
    costs.units.push_back(unit);
    costs.names.emplace_back("unit");
  }
  return costs;
}

RankTraffic sent_by(const std::string& text) {
  const Strategy strategy = parse_strategy(text);
  const RankCosts costs = units_with_experts();
  RankEngine engine;
  engine.training.optimizer = Optimizer::none;
  return simulate_ranks(costs, make_chunks(costs, strategy), strategy, two_nodes(), engine)
      .traffic[0];
}

TEST(Exchanges, gradients_of_experts_are_summed_over_the_ranks_that_have_them) {
  const double whole = 6 * 2.0 * dense_weights, experts = 6 * 2.0 * expert_weights;
  for (const char* text : {"dp=16,ep=4", "dp=16,ep=4,overlap=no", "dp=4,cp=4,ep=4"})
    EXPECT_NEAR(sent_by(text).gradients_bytes, 2 * whole * 15 / 16 + 2 * experts * 3 / 4, 1)
        << text;
  EXPECT_NEAR(sent_by("dp=16,ep=16").gradients_bytes, 2 * whole * 15 / 16, 1);
  EXPECT_NEAR(sent_by("dp=16").gradients_bytes, 2 * (whole + experts) * 15 / 16, 1);
  for (const char* text : {"dp=16,ep=4,zero=1", "dp=16,ep=4,zero=2"}) {
    EXPECT_NEAR(sent_by(text).gradients_bytes, whole * 15 / 16 + experts * 3 / 4, 1) << text;
    EXPECT_NEAR(sent_by(text).parameters_bytes, whole * 15 / 16 + experts * 3 / 4, 1) << text;
  }
  EXPECT_NEAR(sent_by("dp=16,ep=4,zero=3").parameters_bytes,
              2 * (whole * 15 / 16 + experts * 3 / 4), 1);
}

TEST(Exchanges, zero_splits_experts_over_the_ranks_that_have_them) {
  const auto model_bytes = [](const std::string& text) {
    const Strategy strategy = parse_strategy(text);
    const RankCosts costs = units_with_experts();
    const RankMemory memory = rank_memory(costs, make_chunks(costs, strategy), strategy)[0];
    return static_cast<double>(memory.parameters_bytes + memory.gradients_bytes +
                               memory.states_bytes);
  };
  const double whole = 6.0 * dense_weights, experts = 6.0 * expert_weights;
  EXPECT_NEAR(model_bytes("dp=16,ep=4"), 16 * (whole + experts), 1);
  EXPECT_NEAR(model_bytes("dp=16,ep=4,zero=1"),
              4 * (whole + experts) + 12 * (whole / 16 + experts / 4), 1);
  EXPECT_NEAR(model_bytes("dp=4,cp=4,ep=4,zero=2"),
              2 * (whole + experts) + 14 * (whole / 16 + experts / 4), 1);
  EXPECT_NEAR(model_bytes("dp=16,ep=16,zero=3"), 16 * (whole / 16 + experts), 3);
}

TEST(Exchanges, parts_of_every_rank_add_up_with_rings_and_experts) {
  RankCosts costs = units_with_experts();
  for (UnitCost& unit : costs.units) {
    unit.forward_traffic.context = {.time_s = 1e-4, .sent_bytes = 1e6};
    unit.forward_traffic.experts = {.time_s = 2e-4, .sent_bytes = 2e6};
    unit.backward_traffic.tensor = {.time_s = 3e-4, .sent_bytes = 3e6};
  }
  for (const char* text :
       {"dp=4,cp=4,ep=4", "dp=4,cp=2,pp=2,micro=4", "cp=16,zero=3", "cp=4,pp=2,dp=2,micro=4,v=2"}) {
    const Strategy strategy = parse_strategy(text);
    RankEngine engine;
    engine.training.optimizer = Optimizer::none;
    const RankIteration run =
        simulate_ranks(costs, make_chunks(costs, strategy), strategy, two_nodes(), engine);
    for (const RankTime& rank : run.ranks) {
      double sum = 0;
      for (double RankTime::*part : rank_time_parts) sum += rank.*part;
      EXPECT_NEAR(sum, run.time_s, 1e-9 * run.time_s) << text;
    }
    const auto runs = static_cast<double>(strategy.micro_batches);
    double context_s = 0, experts_s = 0;
    for (const RankTime& rank : run.ranks) {
      context_s += rank.context_s;
      experts_s += rank.experts_s;
    }
    EXPECT_NEAR(context_s, 6 * 1e-4 * runs, 1e-12) << text;
    EXPECT_NEAR(experts_s, 6 * 2e-4 * runs, 1e-12) << text;
  }
}

}  // namespace
}  // namespace strata
