// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/simulate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace strata {
namespace {

/// Units of uneven times, with everything that a rank can wait for: a slow host, recomputation,
/// collectives of tensor parallelism.
RankCosts uneven_units(double host_s) {
  RankCosts costs;
  for (std::size_t i = 0; i < 8; ++i) {
    const double time_s = 1e-3 * static_cast<double>(1 + i % 3);
    UnitCost unit;
    unit.forward_traffic.tensor = {.time_s = time_s / 5, .sent_bytes = 1e6};
    unit.backward_traffic.tensor = {.time_s = time_s / 4, .sent_bytes = 2e6};
    unit.forward = Section::call(host_s, time_s).then(Section::call(0, time_s / 5));
    unit.backward = Section::call(host_s, 2 * time_s).then(Section::call(0, time_s / 4));
    unit.recompute_s = time_s / 2;
    unit.weight_gradients_s = time_s / 2;
    unit.parameters = 1000;
    unit.tensors = 2;
    unit.weight_bytes = unit.gradient_bytes = 20'000'000;
    unit.boundary_bytes = 1'000'000;
    costs.units.push_back(unit);
    costs.names.push_back(fmt::format("unit{}", i));
  }
  costs.start_s = 1e-4;
  return costs;
}

RankIteration iteration_of(const RankCosts& costs, const Strategy& strategy, WantEvents events) {
  Cluster cluster;
  cluster.devices_per_node = strategy.devices();
  cluster.inside.bytes_per_s = 50e9;
  cluster.inside.reached_bytes_per_s = 40e9;
  cluster.inside.hop_s = 3e-6;
  cluster.interference = 0.05;
  RankEngine engine;
  engine.training.optimizer = Optimizer::none;
  return simulate_ranks(costs, make_chunks(costs, strategy), strategy, cluster, engine, events);
}

using Events = std::vector<RankEvent>;

void expect_apart(Events& events) {
  std::stable_sort(events.begin(), events.end(),
                   [](const RankEvent& a, const RankEvent& b) { return a.begin_s < b.begin_s; });
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_GE(events[i].end_s, events[i].begin_s);
    EXPECT_FALSE(events[i].name.empty());
    if (i > 0) {
      EXPECT_GE(events[i].begin_s, events[i - 1].end_s - 1e-12) << events[i].name;
    }
  }
}

constexpr const char* all_strategies[] = {"pp=1,micro=2",
                                          "dp=4,micro=3",
                                          "dp=4,micro=3,overlap=no",
                                          "dp=4,tp=2,zero=1,micro=2",
                                          "dp=4,zero=2,micro=2",
                                          "dp=4,zero=3,micro=2",
                                          "pp=4,micro=8",
                                          "dp=2,tp=2,pp=2,micro=4,zero=1",
                                          "dp=2,pp=4,micro=8,v=2",
                                          "dp=2,pp=4,micro=8,schedule=zero-bubble",
                                          "pp=4,micro=4,schedule=gpipe"};

TEST(RankEvents, fill_the_iteration_and_add_up_to_its_parts) {
  for (const auto& [host_s, waits] : {std::pair(1e-6, false), {3e-3, false}, {3e-3, true}}) {
    RankCosts costs = uneven_units(host_s);
    costs.waits_at_steps = waits;
    for (const char* text : all_strategies) {
      SCOPED_TRACE(fmt::format("{}, host {} s, waits {}", text, host_s, waits));
      const RankIteration run = iteration_of(costs, parse_strategy(text), WantEvents::yes);
      for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
        Events own, beside;
        std::vector<double> parts(rank_time_parts.size(), 0);
        for (const RankEvent& event : run.events) {
          if (event.rank != rank) continue;
          const bool is_beside = event.stream == RankEvent::Stream::communication;
          (is_beside ? beside : own).push_back(event);
          if (!is_beside) parts[event.part] += event.end_s - event.begin_s;
        }
        expect_apart(own);
        expect_apart(beside);
        ASSERT_FALSE(own.empty());
        // One after the other, from the beginning to the end, without a hole.
        EXPECT_EQ(own.front().begin_s, 0);
        EXPECT_NEAR(own.back().end_s, run.time_s, 1e-9 * run.time_s);
        for (std::size_t i = 1; i < own.size(); ++i)
          EXPECT_NEAR(own[i].begin_s, own[i - 1].end_s, 1e-9 * run.time_s) << own[i].name;
        for (std::size_t i = 0; i < parts.size(); ++i)
          EXPECT_NEAR(parts[i], run.ranks[rank].*rank_time_parts[i], 1e-9 * run.time_s)
              << rank_time_names[i];
      }
    }
  }
}

TEST(RankEvents, change_nothing_of_the_times) {
  for (const char* text : all_strategies) {
    const RankCosts costs = uneven_units(1e-3);
    const RankIteration with = iteration_of(costs, parse_strategy(text), WantEvents::yes);
    const RankIteration without = iteration_of(costs, parse_strategy(text), WantEvents::no);
    EXPECT_TRUE(without.events.empty());
    EXPECT_NEAR(with.time_s, without.time_s, 1e-12 * without.time_s) << text;
    for (std::size_t rank = 0; rank < with.ranks.size(); ++rank) {
      for (double RankTime::*part : rank_time_parts)
        EXPECT_NEAR(with.ranks[rank].*part, without.ranks[rank].*part, 1e-12 * without.time_s);
    }
  }
}

TEST(RankEvents, name_every_task_once_and_units_where_there_are_no_stages) {
  const auto count = [](const RankIteration& run, const std::string& name) {
    return std::count_if(run.events.begin(), run.events.end(),
                         [&](const RankEvent& event) { return event.name == name; });
  };
  const RankCosts costs = uneven_units(1e-6);
  const RankIteration staged = iteration_of(costs, parse_strategy("pp=4,micro=8"), WantEvents::yes);
  EXPECT_EQ(count(staged, "forward 7"), 4);  // once on each stage
  EXPECT_EQ(count(staged, "backward 0"), 4);
  EXPECT_EQ(count(staged, "forward 8"), 0);
  const RankIteration alone = iteration_of(costs, parse_strategy("dp=2,micro=2"), WantEvents::yes);
  EXPECT_EQ(count(alone, "forward 1, unit3"), 1);
  EXPECT_EQ(count(alone, "tensor parallel collectives, backward 1, unit7"), 1);
  EXPECT_EQ(count(alone, "sum gradients"), 4);  // buckets of 25 MB: two units of 20 MB each
}

}  // namespace
}  // namespace strata
