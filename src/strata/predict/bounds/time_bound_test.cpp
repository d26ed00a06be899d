// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/time_bound.hpp"

#include "strata/predict/bounds/every_plan_test.hpp"
#include "strata/predict/bounds/priced_bound.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/policy.hpp"
#include "strata/training/random_program_test.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace strata {
namespace {

using random_programs::any_program;

Hardware hardware_of(std::int64_t capacity_bytes, double bytes_per_s) {
  return {.capacity_bytes = capacity_bytes,
          .bytes_per_s = bytes_per_s,
          .dense_flop_per_s = 10,
          .other_flop_per_s = 5};
}

/// The fastest of all plans under all ways to prefetch and offload.
double least_time_s(const AccessList& list, const Hardware& hardware) {
  const std::vector<std::uint32_t> uses = every_plan::candidates(list);
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t set = 0; set < std::uint32_t{1} << uses.size(); ++set) {
    const Plan plan = every_plan::plan_of(list, hardware.capacity_bytes, uses, set);
    if (!problems_of(list, plan).empty()) continue;
    for (const Prefetch prefetch : {Prefetch::none, Prefetch::listing, Prefetch::soonest}) {
      const PredictOptions options{.prefetch = prefetch};
      least = std::min(least, simulate(list, plan, hardware, options, Record::totals).time_s);
    }
  }
  return least;
}

TEST(TimeBound, is_never_above_the_time_of_any_plan) {
  std::map<TimeBoundKind, int> won;
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 250; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 8, .most_values = 6});
    const AccessList list(program);
    if (every_plan::candidates(list).size() > 7) continue;
    for (const std::int64_t capacity : every_plan::capacities(list)) {
      for (const double rate : {0.5, 2.0, 5.0}) {
        const Hardware hardware = hardware_of(capacity, rate);
        const TimeBound bound =
            time_bound(list, hardware, model_traffic_bound_at(program, capacity));
        const double least_s = least_time_s(list, hardware);
        EXPECT_LE(bound.time_s, least_s * (1 + 1e-12))
            << "capacity " << capacity << ", rate " << rate << ", " << name_of(bound.largest);
        EXPECT_GE(bound.time_s, bound.compute_s);
        ++won[bound.largest];
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1'000);
  EXPECT_EQ(won.size(), 4u) << "each of the four is the largest somewhere";
}

TEST(TimeBound, of_longer_programs_is_never_above_any_policy) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Program program =
        any_program(seed, {.most_steps = 60, .most_values = 30, .most_uses = 5, .most_bytes = 20});
    const AccessList list(program);
    const std::vector<std::int64_t> capacities = every_plan::capacities(list);
    for (std::size_t i = 0; i < capacities.size(); i += 1 + capacities.size() / 4) {
      const Hardware hardware = hardware_of(capacities[i], 6);
      const std::int64_t traffic = model_traffic_bound_at(program, capacities[i]);
      for (const Policy policy : {Policy::best, Policy::thesis, Policy::belady}) {
        const Prediction schedule = predict(list, hardware, {.policy = policy});
        const TimeBound bound = time_bound(list, hardware, traffic, &schedule);
        EXPECT_LE(bound.time_s, schedule.time_s * (1 + 1e-12))
            << "capacity " << capacities[i] << ", " << name_of(bound.largest);
      }
    }
  }
}

TEST(TimeBound, has_no_price_without_marks_and_the_compulsory_one_with_all_and_room) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed);
    const KeepIntervals keep = keep_intervals(program);
    const std::int64_t compulsory = model_traffic_bound(program).compulsory_bytes;
    const std::vector<bool> all(program.steps.size(), true);
    const std::vector<bool> none(program.steps.size(), false);
    for (std::int64_t capacity = 0; capacity < 30; ++capacity) {
      EXPECT_GE(least_priced_bytes(program, keep, all, capacity), compulsory);
      EXPECT_EQ(least_priced_bytes(program, keep, none, capacity), 0);
    }
    EXPECT_EQ(least_priced_bytes(program, keep, all, 1'000'000), compulsory);
  }
}

/// Any marking gives a valid bound, also the silliest.
TEST(TimeBound, holds_for_any_marking) {
  std::mt19937 random(7);
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 8, .most_values = 6});
    const AccessList list(program);
    if (every_plan::candidates(list).size() > 7) continue;
    const KeepIntervals keep = keep_intervals(program);
    const std::vector<std::int64_t> capacities = every_plan::capacities(list);
    const std::int64_t capacity = capacities[random() % capacities.size()];
    const Hardware hardware = hardware_of(capacity, 1.5);
    const double least_s = least_time_s(list, hardware);
    for (int marking = 0; marking < 20; ++marking) {
      std::vector<bool> is_marked(program.steps.size());
      double bound_s = 0;
      for (std::size_t i = 0; i < is_marked.size(); ++i) {
        is_marked[i] = random() % 2 == 0;
        if (!is_marked[i]) bound_s += compute_time_s(program.steps[i], hardware);
      }
      bound_s += static_cast<double>(least_priced_bytes(program, keep, is_marked, capacity)) /
                 hardware.bytes_per_s;
      EXPECT_LE(bound_s, least_s * (1 + 1e-12)) << marking;
    }
  }
}

}  // namespace
}  // namespace strata
