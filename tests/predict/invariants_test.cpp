// SPDX-License-Identifier: Apache-2.0
#include "random_case.hpp"
#include "strata/predict/best.hpp"
#include "strata/predict/policy.hpp"
#include "timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// What must be true of every prediction, whatever the program. One test each.
namespace strata {
namespace {

using reference::Problems;
using reference::Timeline;

constexpr std::uint32_t seeds = 1000;

/// Calls `check` with a plan of every planner for every random case that can be planned.
void over_plans(const std::function<void(Case&, const AccessList&, const Plan&)>& check) {
  for (std::uint32_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    Case c(seed);
    c.options.strict_minimum = false;
    if (c.hardware.capacity_bytes < c.lowest_capacity()) continue;
    const std::int64_t capacity = c.hardware.capacity_bytes;
    const AccessList list(c.program);
    std::vector<Plan> plans = {farthest_next_use_plan(list, capacity, c.options),
                               packed_plan(list, capacity, c.options, c.any_worth())};
    plans.push_back(BestPlanner(list, c.hardware, c.options).choose(capacity).plan);
    for (const Plan& plan : plans) check(c, list, plan);
  }
}

void over_timelines(const std::function<Problems(const Timeline&)>& problems_of) {
  over_plans([&](Case& c, const AccessList& list, const Plan& plan) {
    const Prediction prediction = simulate(list, plan, c.hardware, c.options, Record::transfers);
    const Timeline line(c.program, plan, c.hardware, c.options, prediction);
    EXPECT_EQ(problems_of(line), Problems{}) << c;
  });
}

/// Hardware and options of a random case, under another policy.
Prediction predict_with(const Case& c, const AccessList& list, Policy policy,
                        Objective objective = Objective::time) {
  PredictOptions options = c.options;
  options.policy = policy;
  options.objective = objective;
  return predict(list, c.hardware, options);
}

std::int64_t traffic(const Prediction& prediction) {
  return prediction.in_bytes + prediction.out_bytes;
}

TEST(PredictionInvariants, EveryByteReadWasLoadedOrProduced) {
  over_timelines([](const Timeline& line) { return reference::Versions(line).problems(); });
}

TEST(PredictionInvariants, OccupancyIsNeverAboveTheCapacity) {
  over_timelines(reference::occupancy_problems);
}

TEST(PredictionInvariants, NoStepStartsBeforeItsInputs) {
  over_timelines(reference::order_problems);
}

TEST(PredictionInvariants, TheChannelCarriesOneTransferAtATime) {
  over_timelines(reference::channel_problems);
}

TEST(PredictionInvariants, PlansKeepTheCapacityRule) {
  over_plans([](Case& c, const AccessList& list, const Plan& plan) {
    EXPECT_EQ(problems_of(list, plan), Problems{}) << c;
    EXPECT_LE(plan.capacity_bytes, c.hardware.capacity_bytes) << c;
  });
}

/// The lower bound that spares `best` simulations, with and without knowing the prefetch.
TEST(PredictionInvariants, NoScheduleOfAPlanIsFasterThanItsFloor) {
  over_plans([](Case& c, const AccessList& list, const Plan& plan) {
    std::vector<double> compute_s;
    compute_times(c.program, c.hardware, compute_s);
    PlannedSteps planned(list);
    planned.schedule(plan, c.options, compute_s, c.hardware.bytes_per_s);
    const double time_s = simulate(list, plan, c.hardware, c.options).time_s;
    for (const Prefetch prefetch : {*c.options.prefetch, Prefetch::soonest}) {
      EXPECT_LE(PlanFloor::time_of(planned, prefetch, c.hardware.capacity_bytes, compute_s,
                                   c.hardware.bytes_per_s),
                time_s)
          << c;
    }
  });
}

TEST(PredictionInvariants, WhatHasNoRoomInTheStepBeforeIsLoadedBetweenThem) {
  Program program;  // every step fills the chip with a value of its own
  for (StepId step = 0; step < 4; ++step) {
    program.values.push_back({.is_given = true, .bytes = 10, .row_bytes = 10});
    program.steps.push_back({.first_use = step, .flop = 7});
    program.uses.push_back({step, true, false});
  }
  const AccessList list(program);
  const Hardware hardware{10, 1, 1, 1, false};
  const Plan plan = farthest_next_use_plan(list, 10, {});
  std::vector<double> compute_s;
  compute_times(program, hardware, compute_s);
  PlannedSteps planned(list);
  planned.schedule(plan, {.prefetch = Prefetch::soonest}, compute_s, hardware.bytes_per_s);
  EXPECT_EQ(planned.late_bytes(2, 10), 10);
  EXPECT_EQ(planned.late_bytes(2, 15), 10);  // a part of a value is not loaded
  EXPECT_EQ(planned.late_bytes(2, 20), 0);
  const double time_s = simulate(list, plan, hardware, {.prefetch = Prefetch::soonest}).time_s;
  EXPECT_EQ(time_s, 4 * (10 + 7));
  EXPECT_NEAR(PlanFloor::time_of(planned, Prefetch::soonest, 10, compute_s, 1), time_s, 1e-6);
}

TEST(PredictionInvariants, TrafficOfStepsTransfersAndPlanIsTheSame) {
  over_plans([](Case& c, const AccessList& list, const Plan& plan) {
    const Prediction prediction = simulate(list, plan, c.hardware, c.options, Record::transfers);
    PlanTraffic of_steps;
    PlanTraffic of_transfers;
    for (const StepResult& step : prediction.steps) {
      of_steps.in_bytes += step.in_bytes;
      of_steps.out_bytes += step.out_bytes;
    }
    for (const Transfer& transfer : prediction.transfers) {
      of_transfers.in_bytes += transfer.in_bytes;
      of_transfers.out_bytes += transfer.out_bytes;
    }
    const PlanTraffic of_plan = traffic_of(list, plan);
    for (const PlanTraffic& other : {of_steps, of_transfers, of_plan}) {
      EXPECT_EQ(prediction.in_bytes, other.in_bytes) << c;
      EXPECT_EQ(prediction.out_bytes, other.out_bytes) << c;
    }
  });
}

TEST(PredictionInvariants, ADecisionKeepsTheCapacityOfTheHardware) {
  int smaller = 0;
  for (std::uint32_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    Case c(seed);
    c.options.strict_minimum = false;
    if (c.hardware.capacity_bytes < c.lowest_capacity()) continue;
    const AccessList list(c.program);
    for (const Policy policy : {Policy::best, Policy::thesis, Policy::belady}) {
      c.options.policy = policy;
      const Decision decision = decide(list, c.hardware, c.options);
      EXPECT_EQ(decision.hardware.capacity_bytes, c.hardware.capacity_bytes) << c;
      EXPECT_LE(decision.plan.capacity_bytes, c.hardware.capacity_bytes) << c;
      smaller += decision.plan.capacity_bytes < c.hardware.capacity_bytes;
      Hardware planned = c.hardware;
      planned.capacity_bytes = decision.plan.capacity_bytes;
      EXPECT_EQ(simulate(list, decision).time_s,
                simulate(list, decision.plan, planned, decision.options).time_s)
          << c;
    }
  }
  EXPECT_GT(smaller, 50);
}

TEST(PredictionInvariants, TimeIsComputeAndStalls) {
  over_plans([](Case& c, const AccessList& list, const Plan& plan) {
    const Prediction prediction = simulate(list, plan, c.hardware, c.options);
    double compute_s = 0;
    double stall_s = prediction.drain_s;
    for (const StepResult& step : prediction.steps) {
      compute_s += step.compute_s;
      stall_s += step.wait_s + step.stream_s;
    }
    const double tolerance_s = 1e-12 * prediction.time_s;
    EXPECT_NEAR(prediction.compute_s, compute_s, tolerance_s) << c;
    EXPECT_NEAR(prediction.stall_s, stall_s, tolerance_s) << c;
    EXPECT_NEAR(prediction.time_s, compute_s + stall_s, tolerance_s) << c;
  });
}

void expect_scaled(const Case& c, const AccessList& list, const Plan& plan, double k,
                   double tolerance) {
  Hardware faster = c.hardware;
  faster.bytes_per_s *= k;
  faster.dense_flop_per_s *= k;
  faster.other_flop_per_s *= k;
  const Prediction one = simulate(list, plan, c.hardware, c.options);
  const Prediction other = simulate(list, plan, faster, c.options);
  EXPECT_NEAR(other.time_s, one.time_s / k, tolerance * one.time_s / k) << "k " << k << ", " << c;
  for (std::size_t step = 0; step < one.steps.size(); ++step) {
    EXPECT_NEAR(other.steps[step].end_s, one.steps[step].end_s / k, tolerance * one.time_s / k)
        << "step " << step << ", " << c;
  }
}

TEST(PredictionInvariants, TwiceTheRatesHalveTheTimeToTheBit) {
  over_plans([](Case& c, const AccessList& list, const Plan& plan) {
    expect_scaled(c, list, plan, std::ldexp(1.0, c.pick(-6, 6)), 0);
  });
}

// Rates at which no two events fall together: a rounding error would else decide what comes first.
TEST(PredictionInvariants, AnyFactorOfTheRatesDividesTheTime) {
  over_plans([](Case& c, const AccessList& list, const Plan& plan) {
    c.hardware.bytes_per_s = c.odd_rate();
    c.hardware.dense_flop_per_s = c.odd_rate();
    c.hardware.other_flop_per_s = c.odd_rate();
    expect_scaled(c, list, plan, c.odd_rate(), 1e-12);
  });
}

// Of `best` when it is asked for the fewest bytes: for the least time it may move more than it
// must, because a stream overlaps with its own step and a load does not.
TEST(PredictionInvariants, EnoughCapacityLeavesCompulsoryTrafficOnly) {
  for (std::uint32_t seed = 0; seed < seeds / 2; ++seed) {
    Case c(seed);
    std::vector<bool> is_used(c.program.values.size());
    std::vector<bool> is_written(c.program.values.size());
    std::int64_t in_bytes = 0;
    std::int64_t out_bytes = 0;
    for (const Use& use : c.program.uses) {
      const Value& value = c.program.values[use.value];
      if (use.reads && !is_used[use.value]) in_bytes += value.bytes;
      if (use.writes && !is_written[use.value] && value.is_result) out_bytes += value.bytes;
      is_used[use.value] = true;
      is_written[use.value] = is_written[use.value] || use.writes;
    }
    c.hardware.capacity_bytes = 4096;  // all values together are below 500
    const AccessList list(c.program);
    for (const Policy policy : {Policy::thesis, Policy::belady, Policy::best}) {
      const Prediction prediction = predict_with(c, list, policy, Objective::traffic);
      EXPECT_EQ(prediction.in_bytes, in_bytes) << c;
      EXPECT_EQ(prediction.out_bytes, out_bytes) << c;
    }
  }
}

TEST(PredictionInvariants, PrefetchLooks1024StepsAheadAndNoFarther) {
  constexpr StepId farthest = 1024;
  Program program;  // one value per step, all of them wanted as soon as may be
  for (StepId step = 0; step < 2 * farthest; ++step) {
    program.values.push_back({.is_given = true, .bytes = 1, .row_bytes = 1});
    program.steps.push_back({.first_use = step, .flop = 2000});
    program.uses.push_back({step, true, false});
  }
  const AccessList list(program);
  PredictOptions options;
  options.policy = Policy::thesis;
  options.prefetch = Prefetch::soonest;
  const Hardware hardware{3 * farthest, 1, 1, 1, false};  // all loads fit beside two steps
  const Prediction prediction = predict(list, hardware, options, Record::transfers);
  for (const Transfer& load : prediction.transfers) {
    if (load.step <= farthest) continue;  // these may go in the first step
    EXPECT_EQ(load.start_s, prediction.steps[load.step - farthest].start_s) << load.step;
  }
}

TEST(PredictionInvariants, ListingBeginsInTheLatestStepThatCovers) {
  Program program;
  program.values = {{.is_given = true, .bytes = 1, .row_bytes = 1},
                    {.is_given = true, .bytes = 4, .row_bytes = 1}};
  for (StepId step = 0; step < 3; ++step) {
    program.steps.push_back({.first_use = step, .flop = 4});
    program.uses.push_back({step == 2 ? 1u : 0u, true, false});
  }
  PredictOptions options;
  options.policy = Policy::thesis;
  options.prefetch = Prefetch::listing;
  const AccessList list(program);
  const Hardware hardware{100, 1, 1, 1, false};  // a step computes as long as the load takes
  const Prediction prediction = predict(list, hardware, options, Record::transfers);
  EXPECT_EQ(prediction.transfers.back().start_s, prediction.steps[1].start_s);
  EXPECT_EQ(prediction.steps[2].wait_s, 0);
}

/// The fewest loads of equal values that are only read: over all sets that may be on chip after
/// each step.
int fewest_loads(const Program& program, int most_on_chip) {
  constexpr int many = 1 << 20;
  const std::uint32_t sets = 1u << program.values.size();
  std::vector<int> loads(sets, many);  // by what is on chip
  loads[0] = 0;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    std::uint32_t used = 0;
    for (const Use& use : program.uses_of(step)) used |= 1u << use.value;
    std::vector<int> after(sets, many);
    for (std::uint32_t before = 0; before < sets; ++before) {
      if (loads[before] == many) continue;
      for (std::uint32_t kept = before;; kept = (kept - 1) & before) {
        if (std::popcount(kept | used) <= most_on_chip) {
          int& best = after[kept | used];
          best = std::min(best, loads[before] + std::popcount(used & ~kept));
        }
        if (kept == 0) break;
      }
    }
    loads = after;
  }
  return *std::min_element(loads.begin(), loads.end());
}

TEST(PredictionInvariants, FarthestNextUseIsOptimalForEqualSizesThatAreOnlyRead) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    random_programs::ProgramShape shape;
    shape.most_values = 7;
    shape.most_uses = 3;
    shape.most_steps = 14;
    shape.equal_sizes = true;
    shape.read_only = true;
    const Program program = random_programs::any_program(seed, shape);
    const AccessList list(program);
    for (int on_chip = 3; on_chip <= 6; ++on_chip) {
      const Plan plan = farthest_next_use_plan(list, on_chip * shape.most_bytes, {});
      EXPECT_EQ(traffic_of(list, plan).total(), fewest_loads(program, on_chip) * shape.most_bytes)
          << "seed " << seed << ", room for " << on_chip;
    }
  }
}

/// What `best` makes small: the time, and a hundredth of the time that the transfers take.
double cost_s(const Prediction& prediction, const Hardware& hardware) {
  return prediction.time_s + 0.01 * static_cast<double>(traffic(prediction)) / hardware.bytes_per_s;
}

/// Every combination of policy, prefetch, offload and slicing that can be typed, with the objective
/// of time. The solver's policy is left out: it takes seconds.
std::vector<PredictOptions> every_combination() {
  std::vector<PredictOptions> all;
  for (const Policy policy : {Policy::best, Policy::thesis, Policy::belady}) {
    for (const bool is_strict : {false, true}) {
      for (int prefetch = 0; prefetch < 4; ++prefetch) {
        for (int offload = 0; offload < 2; ++offload)
          all.push_back({.policy = policy,
                         .prefetch = static_cast<Prefetch>(prefetch),
                         .offload = static_cast<Offload>(offload),
                         .strict_minimum = is_strict});
      }
    }
  }
  return all;
}

TEST(PredictionInvariants, BestNeverLosesToACombinationThatCanBeTyped) {
  const std::vector<PredictOptions> combinations = every_combination();
  std::set<std::pair<Prefetch, Offload>> chosen;
  for (std::uint32_t seed = 0; seed < seeds / 2 && !HasFailure(); ++seed) {
    Case c(seed);
    if (seed % 2 == 0) c.make_larger();
    const AccessList list(c.program);
    if (c.hardware.capacity_bytes < c.lowest_capacity()) continue;
    const Decision decision = decide(list, c.hardware, {});
    chosen.emplace(*decision.options.prefetch, *decision.options.offload);
    const Prediction best = simulate(list, decision);
    for (const PredictOptions& options : combinations) {
      if (options.strict_minimum && c.hardware.capacity_bytes < minimum_capacity(c.program).bytes)
        continue;  // refused
      const Prediction other = predict(list, c.hardware, options);
      EXPECT_LE(cost_s(best, c.hardware), cost_s(other, c.hardware) * (1 + 1e-8))
          << c << "policy " << static_cast<int>(options.policy) << ", prefetch "
          << static_cast<int>(*options.prefetch) << ", offload "
          << static_cast<int>(*options.offload);
      EXPECT_LE(best.time_s, 1.01 * other.time_s) << c;
    }
  }
  EXPECT_GE(chosen.size(), 2);  // a search that always takes the same would prove little
}

TEST(PredictionInvariants, BestTrafficIsNeverMoreThanThatOfThesis) {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Case c(seed);
    c.options.strict_minimum = false;
    if (c.hardware.capacity_bytes < c.lowest_capacity()) continue;
    const AccessList list(c.program);
    const auto fewest = traffic(predict_with(c, list, Policy::best, Objective::traffic));
    EXPECT_LE(fewest, traffic(predict_with(c, list, Policy::thesis))) << c;
    EXPECT_LE(fewest, traffic(predict_with(c, list, Policy::best))) << c;
  }
}

// Any two capacities, whether plans are made for them or not, at which a step may just fit or be
// cut; asked one by one, so that no prediction knows of another.
TEST(PredictionInvariants, BestIsNeverWorseWithMoreCapacity) {
  int differ = 0;
  for (std::uint32_t seed = 0; seed < seeds / 8 && !HasFailure(); ++seed) {
    Case c(seed);
    c.make_larger();
    c.options.strict_minimum = false;
    const AccessList list(c.program);
    std::int64_t all = 0;
    for (const Value& value : c.program.values) all += value.bytes;
    std::uniform_int_distribution<std::int64_t> any(c.lowest_capacity(), all + all / 8);
    std::vector<std::int64_t> capacities;
    for (int i = 0; i < 6; ++i) capacities.push_back(any(c.random));
    std::uniform_int_distribution<std::int64_t> near(-all / 64, all / 64);
    for (int i = 0; i < 6; ++i) capacities.push_back(capacities[0] + near(c.random));
    std::sort(capacities.begin(), capacities.end());
    for (const Objective objective : {Objective::time, Objective::traffic}) {
      double least = std::numeric_limits<double>::infinity();
      for (const std::int64_t capacity : capacities) {
        if (capacity < c.lowest_capacity()) continue;
        c.hardware.capacity_bytes = capacity;
        const Prediction best = predict_with(c, list, Policy::best, objective);
        const Prediction thesis = predict_with(c, list, Policy::thesis);
        const auto cost = [&](const Prediction& of) {
          return objective == Objective::time ? cost_s(of, c.hardware)
                                              : static_cast<double>(traffic(of));
        };
        EXPECT_LE(cost(best), least) << c;
        EXPECT_LE(cost(best), cost(thesis)) << c;
        differ += cost(best) < least;
        least = cost(best);
      }
    }
  }
  EXPECT_GT(differ, 400);
}

}  // namespace
}  // namespace strata
