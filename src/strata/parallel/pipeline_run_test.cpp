// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/pipeline_run.hpp"

#include "strata/base/error.hpp"
#include "strata/parallel/simulate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace strata {
namespace {

/// Units of different times, some of them bound by the host.
RankCosts units_at_random(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> kernels(0.5e-3, 2e-3), host(0.1e-3, 1.5e-3);
  RankCosts costs;
  costs.start_s = 1e-3;
  costs.waits_at_steps = seed % 4 == 3;
  for (std::size_t i = 0; i < count; ++i) {
    UnitCost unit;
    unit.forward = Section::call(host(random), kernels(random));
    unit.backward = Section::call(host(random), 2 * kernels(random));
    unit.weight_gradients_s = unit.backward.device_s / 2;
    unit.forward_traffic.tensor = {.time_s = unit.forward.device_s / 10, .sent_bytes = 1e6};
    unit.parameters = 1000;
    unit.tensors = 2;
    unit.weight_bytes = unit.gradient_bytes = 20'000'000 + 1'000'000 * (random() % 10);
    unit.state_bytes = 12'000'000;
    unit.saved_bytes = 1000;
    unit.boundary_bytes = 1'000'000;
    costs.units.push_back(unit);
    costs.names.push_back(fmt::format("unit {}", i));
  }
  return costs;
}

Cluster nodes_of_four(std::int64_t devices, double bytes_per_s) {
  Cluster cluster;
  cluster.devices_per_node = std::min<std::int64_t>(devices, 4);
  cluster.nodes = devices / cluster.devices_per_node;
  cluster.inside = {.bytes_per_s = bytes_per_s, .reached_bytes_per_s = bytes_per_s, .hop_s = 1e-6};
  cluster.between = cluster.inside;
  cluster.between->reached_bytes_per_s = bytes_per_s / 10;
  cluster.interference = 0.1;
  return cluster;
}

RankIteration iteration_of(const RankCosts& costs, const Strategy& strategy, double bytes_per_s,
                           Rounds rounds, WantEvents wants = WantEvents::no) {
  RankEngine engine;
  engine.training.optimizer = Optimizer::none;
  return simulate_ranks(costs, make_chunks(costs, strategy), strategy,
                        nodes_of_four(strategy.devices(), bytes_per_s), engine, wants, rounds);
}

void expect_same(const RankIteration& quick, const RankIteration& whole, const std::string& what) {
  constexpr double same = 1e-7;
  ASSERT_EQ(quick.ranks.size(), whole.ranks.size());
  EXPECT_NEAR(quick.time_s, whole.time_s, same * whole.time_s) << what;
  for (std::size_t rank = 0; rank < whole.ranks.size(); ++rank) {
    for (std::size_t part = 0; part < rank_time_parts.size(); ++part)
      EXPECT_NEAR(quick.ranks[rank].*rank_time_parts[part],
                  whole.ranks[rank].*rank_time_parts[part], same * whole.time_s)
          << what << ": " << rank_time_names[part] << " of stage " << rank;
    EXPECT_NEAR(quick.traffic[rank].total_bytes(), whole.traffic[rank].total_bytes(),
                same * whole.traffic[rank].total_bytes())
        << what;
  }
}

TEST(PipelineRun, rounds_that_count_as_often_as_they_are_there_give_the_same_times) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const RankCosts costs = units_at_random(seed, 12);
    for (const char* split :
         {"micro=2000", "dp=4,micro=2000", "dp=4,micro=2000,zero=2", "dp=8,micro=2001,zero=3",
          "pp=4,micro=2000", "pp=3,micro=1999", "dp=2,pp=4,micro=2000,zero=1",
          "pp=4,micro=2000,v=3", "pp=2,micro=2000,v=2", "pp=4,micro=1000,schedule=zero-bubble",
          "tp=2,pp=2,micro=2000,overlap=no"}) {
      const Strategy strategy = parse_strategy(split);
      for (const double rate : {1e12, 1e10, 1e9}) {
        expect_same(iteration_of(costs, strategy, rate, Rounds::alike_count_once),
                    iteration_of(costs, strategy, rate, Rounds::each_is_simulated),
                    fmt::format("{} of seed {} at {:g} bytes/s", split, seed, rate));
      }
    }
  }
}

/// A host that falls behind the device by a little in each round is not seen in the first ones.
TEST(PipelineRun, a_host_that_will_be_late_is_not_overlooked) {
  RankCosts costs = units_at_random(0, 1);
  costs.start_s = 0;
  costs.waits_at_steps = false;
  for (const double host_s : {0.998e-3, 1.002e-3}) {
    costs.units[0].forward = {.host_s = host_s, .device_s = 1e-3, .through_s = -1};
    costs.units[0].backward = {.host_s = host_s, .device_s = 1e-3, .through_s = -1};
    const Strategy strategy = parse_strategy("micro=20000");
    expect_same(iteration_of(costs, strategy, 1e12, Rounds::alike_count_once),
                iteration_of(costs, strategy, 1e12, Rounds::each_is_simulated),
                fmt::format("host {}", host_s));
  }
}

/// Simulated one by one, a million of them would be refused.
TEST(PipelineRun, a_million_micro_batches_take_as_long_as_they_are_many) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const RankCosts costs = units_at_random(seed, 32);
    for (const char* split :
         {"pp=32", "pp=4", "pp=2,v=2", "pp=2,v=4", "pp=2,v=8", "pp=4,v=4", "pp=8,v=2"}) {
      const auto time_s = [&](int micro_batches) {
        return iteration_of(costs, parse_strategy(fmt::format("{},micro={}", split, micro_batches)),
                            1e11, Rounds::alike_count_once)
            .time_s;
      };
      const double round_s = (time_s(20'000) - time_s(10'000)) / 10'000;
      EXPECT_NEAR(time_s(1'000'000), time_s(10'000) + 990'000 * round_s, 2 * round_s)
          << split << " of seed " << seed;
    }
  }
}

TEST(PipelineRun, events_of_rounds_that_are_left_out_add_up_to_their_time) {
  const RankCosts costs = units_at_random(2, 12);
  const Strategy strategy = parse_strategy("dp=2,pp=4,micro=100000");
  const RankIteration run =
      iteration_of(costs, strategy, 1e10, Rounds::alike_count_once, WantEvents::yes);
  EXPECT_LT(run.events.size(), 20'000U);
  std::vector<RankTime> sums(run.ranks.size());
  std::vector<double> end_s(run.ranks.size(), 0);
  bool has_alike = false, has_last = false;
  for (const RankEvent& event : run.events) {
    has_alike |= event.name.ends_with("alike");
    has_last |= event.name == "backward 99999";
    if (event.stream == RankEvent::Stream::communication) continue;
    sums[event.rank].*rank_time_parts[event.part] += event.end_s - event.begin_s;
    EXPECT_GE(event.begin_s, end_s[event.rank] - 1e-7 * run.time_s) << event.name;
    end_s[event.rank] = event.end_s;
  }
  EXPECT_TRUE(has_alike);
  EXPECT_TRUE(has_last) << "micro-batches have the numbers that they have";
  for (std::size_t rank = 0; rank < sums.size(); ++rank) {
    for (double RankTime::*part : rank_time_parts)
      EXPECT_NEAR(sums[rank].*part, run.ranks[rank].*part, 1e-7 * run.time_s);
  }
}

TEST(PipelineRun, rounds_that_are_never_alike_are_refused_with_their_number) {
  const RankCosts costs = units_at_random(3, 8);
  try {
    iteration_of(costs, parse_strategy("pp=8,micro=1000000,schedule=gpipe"), 1e10,
                 Rounds::alike_count_once);
    ADD_FAILURE() << "simulated";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("16000000 forward and backward"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("schedule=1f1b"), std::string::npos);
  }
}

}  // namespace
}  // namespace strata
