// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/simulate.hpp"

#include "strata/parallel/rank_memory.hpp"
#include "strata/parallel/schedule.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace strata {
namespace {

constexpr double forward_s = 1e-3, backward_s = 2e-3;

/// Units that all take the same time, and no host to speak of.
RankCosts equal_units(std::size_t count) {
  RankCosts costs;
  for (std::size_t i = 0; i < count; ++i) {
    UnitCost unit;
    unit.forward = Section::call(0, forward_s);
    unit.backward = Section::call(0, backward_s);
    unit.weight_gradients_s = backward_s / 2;
    unit.parameters = 1000;
    unit.tensors = 2;
    unit.weight_bytes = 2'000'000;
    unit.gradient_bytes = 2'000'000;
    unit.state_bytes = 12'000'000;
    unit.saved_bytes = 1000;
    unit.boundary_bytes = 10;
    costs.units.push_back(unit);
    costs.names.push_back("unit");
  }
  return costs;
}

/// Links that cost nothing but what is asked for.
Cluster cluster_of(std::int64_t devices, double bytes_per_s = 1e30) {
  Cluster cluster;
  cluster.devices_per_node = devices;
  cluster.inside = {.bytes_per_s = bytes_per_s, .reached_bytes_per_s = bytes_per_s, .hop_s = 0};
  return cluster;
}

RankIteration simulated(const RankCosts& costs, const std::string& text, const Cluster& cluster) {
  const Strategy strategy = parse_strategy(text);
  RankEngine engine;
  engine.training.optimizer = Optimizer::none;
  return simulate_ranks(costs, make_chunks(costs, strategy), strategy, cluster, engine);
}

double total(const RankTime& time) {
  double sum = 0;
  for (double RankTime::*part : rank_time_parts) sum += time.*part;
  return sum;
}

// Each message takes a collective's base time; stages are a hundred times as long.
constexpr double near = 2e-4;

TEST(Simulate, one_f_one_b_has_the_bubble_of_its_closed_form) {
  for (const int stages : {2, 4, 8}) {
    for (const int micro : {1, 3, 8, 32}) {
      const RankIteration run = simulated(
          equal_units(8), fmt::format("pp={},micro={}", stages, micro), cluster_of(stages));
      const double stage_s = (forward_s + backward_s) * 8 / stages;
      EXPECT_NEAR(run.time_s, (micro + stages - 1) * stage_s, near * (micro + stages));
    }
  }
}

TEST(Simulate, gpipe_takes_as_long_and_interleaving_less) {
  const auto time = [](const char* text) {
    return simulated(equal_units(16), text, cluster_of(4)).time_s;
  };
  EXPECT_NEAR(time("pp=4,micro=8,schedule=gpipe"), time("pp=4,micro=8"), near * 10);
  // The bubble is (p − 1)/v stages instead of p − 1.
  const double stage_s = (forward_s + backward_s) * 4;
  EXPECT_NEAR(time("pp=4,micro=8,v=2"), (8 + 3.0 / 2) * stage_s, near * 40);
  EXPECT_NEAR(time("pp=4,micro=8,v=4"), (8 + 3.0 / 4) * stage_s, near * 40);
}

TEST(Simulate, zero_bubble_fills_bubbles_with_gradients_of_weights) {
  const RankIteration plain = simulated(equal_units(8), "pp=4,micro=8", cluster_of(4));
  const RankIteration filled =
      simulated(equal_units(8), "pp=4,micro=8,schedule=zero-bubble", cluster_of(4));
  // ZB-H1: (p − 1)(F + B − W), where 1F1B has (p − 1)(F + B + W); here F, B and W are equal.
  const double part_s = forward_s * 2;
  EXPECT_NEAR(plain.time_s - filled.time_s, 3 * 2 * part_s, 2 * part_s);
  EXPECT_LT(filled.time_s, plain.time_s);
}

TEST(Simulate, parts_of_every_rank_add_up_to_the_iteration) {
  RankCosts costs = equal_units(12);
  costs.start_s = 5e-3;
  for (UnitCost& unit : costs.units) unit.forward = Section::call(0.9e-3, 1e-3);
  for (const char* text :
       {"dp=4", "dp=4,zero=1", "dp=4,zero=2,micro=3", "dp=4,zero=3,micro=2", "pp=4,micro=6",
        "dp=2,pp=2,micro=4,zero=1", "dp=2,pp=2,micro=4,overlap=no", "pp=4,micro=8,v=3",
        "pp=4,micro=5,schedule=gpipe", "dp=2,pp=2,micro=4,schedule=zero-bubble"}) {
    const RankIteration run = simulated(costs, text, cluster_of(4, 1e9));
    for (const RankTime& rank : run.ranks)
      EXPECT_NEAR(total(rank), run.time_s, 1e-9 * run.time_s + 1e-12) << text;
    EXPECT_NEAR(total(run.mean()), run.time_s, 1e-9 * run.time_s + 1e-12) << text;
  }
}

TEST(Simulate, time_never_falls_with_slower_links) {
  for (const char* text : {"dp=4", "dp=4,zero=1", "dp=4,zero=3", "dp=2,pp=2,micro=4",
                           "dp=2,pp=2,micro=4,overlap=no", "pp=4,micro=8,v=3"}) {
    double before = 0;
    for (const double rate : {1e12, 1e11, 1e10, 1e9, 1e8}) {
      const double time_s = simulated(equal_units(12), text, cluster_of(4, rate)).time_s;
      EXPECT_GE(time_s, before) << text;
      before = time_s;
    }
  }
}

TEST(Simulate, bytes_on_links_are_those_of_the_closed_forms) {
  const double weights = 12 * 2e6;
  const auto sent = [](const char* text) {
    return simulated(equal_units(12), text, cluster_of(4)).traffic[0];
  };
  EXPECT_NEAR(sent("dp=4").gradients_bytes, 2 * weights * 3 / 4, 1);
  EXPECT_NEAR(sent("dp=4,overlap=no").gradients_bytes, 2 * weights * 3 / 4, 1);
  EXPECT_NEAR(sent("dp=4,zero=1").gradients_bytes, weights * 3 / 4, 1);
  EXPECT_NEAR(sent("dp=4,zero=1").parameters_bytes, weights * 3 / 4, 1);
  // ZeRO 3: gathered forward and backward, scattered once: 1.5 times the volume.
  const RankTraffic all = sent("dp=4,zero=3");
  EXPECT_NEAR(all.gradients_bytes + all.parameters_bytes, 1.5 * 2 * weights * 3 / 4, 1);
  EXPECT_NEAR(sent("pp=4,micro=8").pipeline_bytes, 8 * 10, 1e-9);
}

TEST(Simulate, gradients_are_summed_while_backward_goes_on) {
  const double slow = 2e9;
  const RankIteration hidden = simulated(equal_units(12), "dp=4", cluster_of(4, slow));
  const RankIteration shown = simulated(equal_units(12), "dp=4,overlap=no", cluster_of(4, slow));
  EXPECT_LT(hidden.ranks[0].gradients_s, shown.ranks[0].gradients_s);
  EXPECT_NEAR(shown.ranks[0].gradients_s, 2 * 24e6 * 3 / 4 / slow, 1e-3);
}

// Sums that outlast everything end when the link has done all that was asked of it from the first
// bucket on: the collectives of the units after it, too, where they use the same link.
TEST(Simulate, sums_of_gradients_and_collectives_of_layers_share_a_link) {
  constexpr std::size_t count = 12;
  constexpr double collective_s = 1e-3, rate = 1e9;
  RankCosts costs = equal_units(count);
  for (UnitCost& unit : costs.units) {
    unit.backward_traffic.tensor = {.time_s = collective_s, .sent_bytes = 1e6};
    unit.backward = unit.backward.then(Section::call(0, collective_s));
    unit.gradient_bytes = 30'000'000;  // a bucket of its own
  }
  const double unit_s = backward_s + collective_s;
  const auto sums_s = [&](const Cluster& cluster) {
    return count * collective_time_s(cluster, {4, 2}, CollectiveKind::all_reduce, 30e6);
  };
  const Cluster together = cluster_of(8, rate);
  EXPECT_NEAR(simulated(costs, "dp=4,tp=2", together).time_s,
              count * forward_s + unit_s + sums_s(together) + (count - 1) * collective_s, 1e-9);
  // Tensor parallel ranks in a node, the others over a network.
  Cluster apart = cluster_of(2, rate);
  apart.nodes = 4;
  apart.between = apart.inside;
  EXPECT_NEAR(simulated(costs, "dp=4,tp=2", apart).time_s,
              count * forward_s + unit_s + sums_s(apart), 1e-9);
  // What is hidden behind kernels has the link as well.
  for (UnitCost& unit : costs.units) {
    unit.backward_traffic.tensor = {};
    unit.backward_traffic.context = {.hidden_s = collective_s};
  }
  EXPECT_NEAR(simulated(costs, "dp=2,cp=2,tp=2", together).time_s,
              count * forward_s + unit_s + sums_s(together) + (count - 1) * collective_s, 1e-9);
}

// Weights come in while the unit before computes, and its collectives have the link first.
TEST(Simulate, weights_that_are_gathered_give_way_to_collectives_of_layers) {
  constexpr std::size_t count = 12;
  constexpr double collective_s = 0.2e-3;
  RankCosts costs = equal_units(count);
  const auto time_of = [&](const Cluster& cluster) {
    return simulated(costs, "dp=4,tp=2,zero=3,overlap=no", cluster).time_s;
  };
  const Cluster cluster = cluster_of(8, 1e9);  // a gather of 2 MB takes longer than a forward
  const double alone_s = time_of(cluster);
  for (UnitCost& unit : costs.units) unit.forward_traffic.tensor = {.time_s = collective_s};
  // Beside every forward weights are gathered; beside the last, for backward.
  EXPECT_NEAR(time_of(cluster) - alone_s, count * collective_s, 1e-9);
}

// Forward waits for the host and backward for the device: one after the other takes both, unless
// the host runs ahead of the device.
TEST(Simulate, a_host_that_waits_at_steps_hides_nothing_behind_the_device) {
  RankCosts costs = equal_units(4);
  for (UnitCost& unit : costs.units) {
    unit.forward = Section::call(1e-3, 1e-6);
    unit.backward = Section::call(1e-6, 1e-3);
  }
  constexpr double both_s = 2 * 4 * 2e-3;
  const double ahead_s = simulated(costs, "micro=2", cluster_of(1)).time_s;
  EXPECT_NEAR(ahead_s, both_s - 4e-3, 0.05e-3);  // the second forward behind the first backward
  costs.waits_at_steps = true;
  const RankIteration waiting = simulated(costs, "micro=2", cluster_of(1));
  EXPECT_NEAR(waiting.time_s, both_s, 0.05e-3);
  EXPECT_NEAR(total(waiting.ranks[0]), waiting.time_s, 1e-9);
}

TEST(Schedule, every_micro_batch_goes_once_through_every_chunk) {
  for (const char* text : {"pp=4,micro=8", "pp=4,micro=8,v=3", "pp=4,micro=3,schedule=gpipe",
                           "pp=4,micro=6,schedule=zero-bubble"}) {
    const Strategy strategy = parse_strategy(text);
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      std::set<std::tuple<TaskKind, std::uint32_t, std::uint32_t>> seen;
      for (const Task& task : tasks_of(strategy, stage))
        EXPECT_TRUE(seen.emplace(task.kind, task.chunk, task.micro).second) << text;
      const bool is_apart = strategy.schedule == PipelineSchedule::zero_bubble;
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(strategy.micro_batches * strategy.chunks *
                                                      (is_apart ? 3 : 2)));
    }
  }
}

TEST(Schedule, one_f_one_b_keeps_as_many_micro_batches_as_stages_follow) {
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(most_in_flight(parse_strategy("pp=4,micro=8"), stage), 4 - stage);
    EXPECT_EQ(most_in_flight(parse_strategy("pp=4,micro=2"), stage),
              std::min<std::int64_t>(4 - stage, 2));
    EXPECT_EQ(most_in_flight(parse_strategy("pp=4,micro=8,schedule=gpipe"), stage), 8);
  }
  // Narayanan et al. 2021: 2(p − 1) + (v − 1)p + 1 on the first stage.
  EXPECT_EQ(most_in_flight(parse_strategy("pp=4,micro=16,v=2"), 0), 2 * 3 + 4 + 1);
}

TEST(Schedule, most_in_flight_is_what_its_tasks_come_to) {
  for (const char* text : {"pp=4,micro=8", "pp=4,micro=2", "pp=4,micro=8,v=3", "pp=4,micro=4,v=2",
                           "pp=4,micro=3,schedule=gpipe", "pp=4,micro=6,schedule=zero-bubble"}) {
    const Strategy strategy = parse_strategy(text);
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      std::int64_t now = 0, most = 0;
      for (const Task& task : tasks_of(strategy, stage)) {
        if (task.kind == TaskKind::forward) most = std::max(most, ++now);
        if (task.kind == TaskKind::backward) --now;
      }
      EXPECT_EQ(most_in_flight(strategy, stage), most) << text;
    }
  }
}

// Rajbhandari et al. 2020: of Ψ parameters in 16 bits with Adam, 16Ψ bytes; 4Ψ + 12Ψ/d with the
// states split, 2Ψ + 14Ψ/d with gradients, 16Ψ/d with everything.
TEST(RankMemory, is_that_of_the_closed_forms_of_zero) {
  const RankCosts costs = equal_units(10);
  const double psi = 10e6;
  const auto model_bytes = [&](const char* text) {
    const Strategy strategy = parse_strategy(text);
    const RankMemory memory = rank_memory(costs, make_chunks(costs, strategy), strategy)[0];
    return static_cast<double>(memory.parameters_bytes + memory.gradients_bytes +
                               memory.states_bytes);
  };
  EXPECT_NEAR(model_bytes("dp=8"), 16 * psi, 1);
  EXPECT_NEAR(model_bytes("dp=8,zero=1"), 4 * psi + 12 * psi / 8, 1);
  EXPECT_NEAR(model_bytes("dp=8,zero=2"), 2 * psi + 14 * psi / 8, 1);
  EXPECT_NEAR(model_bytes("dp=8,zero=3"), 16 * psi / 8, 3);
}

TEST(RankMemory, one_f_one_b_keeps_activations_of_the_micro_batches_in_flight) {
  const RankCosts costs = equal_units(8);
  const Strategy strategy = parse_strategy("pp=4,micro=16");
  const auto memory = rank_memory(costs, make_chunks(costs, strategy), strategy);
  for (std::size_t stage = 0; stage < 4; ++stage)
    EXPECT_EQ(memory[stage].activations_bytes, static_cast<std::int64_t>(4 - stage) * 2 * 1000);
}

TEST(Section, rows_of_calls_are_what_the_calls_do_one_by_one) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> seconds(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    RankClock clock{seconds(random) * 3, seconds(random) * 3};
    const RankClock start = clock;
    Section row;
    for (int call = 0; call < 20; ++call) {
      const double host = seconds(random), busy = seconds(random);
      clock.host_s += host;
      clock.device_s = std::max(clock.device_s, clock.host_s) + busy;
      row = row.then(Section::call(host, busy));
    }
    EXPECT_NEAR(row.after(start).host_s, clock.host_s, 1e-12);
    EXPECT_NEAR(row.after(start).device_s, clock.device_s, 1e-12);
  }
}

/// The shortest longest part, by trying all cuts.
double best_longest(const std::vector<double>& times, std::size_t first, std::size_t parts) {
  double sum = 0;
  for (std::size_t i = first; i < times.size(); ++i) sum += times[i];
  if (parts == 1) return sum;
  double best = 1e9, part = 0;
  for (std::size_t end = first + 1; times.size() - end >= parts - 1; ++end) {
    part += times[end - 1];
    best = std::min(best, std::max(part, best_longest(times, end, parts - 1)));
  }
  return best;
}

TEST(Stages, the_longest_is_as_short_as_can_be) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> seconds(0.1, 1);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> times(4 + random() % 7);
    for (double& time : times) time = seconds(random);
    const std::size_t parts = 1 + random() % times.size();
    const auto ends = balanced_cuts(times, parts);
    ASSERT_EQ(ends.size(), parts);
    ASSERT_EQ(ends.back(), times.size());
    double longest = 0;
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      EXPECT_GT(end, first);
      double sum = 0;
      for (; first < end; ++first) sum += times[first];
      longest = std::max(longest, sum);
    }
    EXPECT_NEAR(longest, best_longest(times, 0, parts), 1e-9);
  }
}

}  // namespace
}  // namespace strata
