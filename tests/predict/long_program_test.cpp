// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/best.hpp"
#include "strata/predict/policy.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <vector>

/// Programs of so many steps that fewer capacities are tried.
namespace strata {
namespace {

constexpr std::size_t half = CapacityGrid::long_program / 2 + 1;

/// A forward pass whose activations a backward pass reads again, over a few weights in turn.
Program long_program() {
  constexpr ValueId weights = 7;
  Program program;
  for (ValueId weight = 0; weight < weights; ++weight)
    program.values.push_back({.is_given = true, .bytes = 1009 * (weight + 3), .row_bytes = 1});
  for (std::size_t step = 0; step < 2 * half; ++step) {
    const auto made = static_cast<ValueId>(program.values.size());
    program.values.push_back({.bytes = 211 + 13 * static_cast<int>(step % 17), .row_bytes = 1});
    program.steps.push_back({.first_use = static_cast<std::uint32_t>(program.uses.size()),
                             .flop = 500 + 70 * static_cast<int>(step % 29)});
    program.uses.push_back({static_cast<ValueId>(step % weights), true, false});
    if (step > 0) program.uses.push_back({made - 1, true, false});
    if (step >= half) {
      const auto saved = static_cast<ValueId>(weights + 2 * half - 1 - step);
      if (saved != made - 1) program.uses.push_back({saved, true, false});
    }
    program.uses.push_back({made, false, true});
  }
  return program;
}

Hardware hardware_with(std::int64_t capacity_bytes) {
  return {capacity_bytes, 1.0, 1.0, 1.0, false};
}

double cost_s(const AccessList& list, std::int64_t capacity_bytes, Policy policy) {
  const Prediction made =
      predict(list, hardware_with(capacity_bytes), {.policy = policy}, Record::totals);
  return made.time_s + 0.01 * static_cast<double>(made.in_bytes + made.out_bytes);
}

TEST(LongProgram, is_planned_for_capacities_of_five_binary_digits) {
  const Program program = long_program();
  const CapacityGrid grid(AccessList(program), {});
  EXPECT_EQ(grid.floor(127 * 1024), 124 * 1024);
  EXPECT_EQ(grid.floor(31 * 1024 + 1023), 31 * 1024);
  EXPECT_EQ(grid.above(31 * 1024), 32 * 1024);
  Program shorter = program;
  shorter.steps.resize(half);
  shorter.uses.erase(shorter.uses.begin() + program.steps[half].first_use, shorter.uses.end());
  EXPECT_EQ(CapacityGrid(AccessList(shorter), {}).floor(127 * 1024), 127 * 1024);
}

TEST(LongProgram, costs_no_more_with_more_capacity_nor_than_other_policies) {
  const Program program = long_program();
  const AccessList list(program);
  double least = std::numeric_limits<double>::infinity();
  int differ = 0;
  for (const std::int64_t capacity : {17'000, 33'500, 33'900, 65'000, 127'000, 130'048, 131'071}) {
    const double best = cost_s(list, capacity, Policy::best);
    EXPECT_LE(best, least) << capacity;
    EXPECT_LE(best, cost_s(list, capacity, Policy::thesis)) << capacity;
    EXPECT_LE(best, cost_s(list, capacity, Policy::belady)) << capacity;
    differ += best < least;
    least = best;
  }
  EXPECT_EQ(differ, 4);  // so many rounded capacities are among them
}

TEST(LongProgram, has_the_same_plan_whoever_searches) {
  const Program program = long_program();
  const AccessList list(program);
  const Hardware hardware = hardware_with(65'000);
  const BestPlanner::Choice alone = BestPlanner(list, hardware, {}).choose(65'000);
  BestPlanner shared(list, hardware, {});
  shared.search_with(3);
  const BestPlanner::Choice together = shared.choose(65'000);
  BestPlanner rising(list, hardware, {});
  rising.totals_at(17'000);
  const BestPlanner::Choice later = rising.choose(65'000);
  for (const BestPlanner::Choice* other : {&together, &later}) {
    EXPECT_EQ(other->plan.capacity_bytes, alone.plan.capacity_bytes);
    EXPECT_EQ(other->prefetch, alone.prefetch);
    EXPECT_EQ(other->offload, alone.offload);
  }
}

/// CPU time for one step that needs so many values whole.
double cpu_time_of_step_s(std::size_t values) {
  Program program;
  program.steps.push_back({.first_use = 0, .flop = 1000});
  for (std::size_t value = 0; value < values; ++value) {
    program.values.push_back({.is_given = true, .bytes = 64, .row_bytes = 64});
    program.uses.push_back({static_cast<ValueId>(value), true, false});
  }
  const AccessList list(program);
  const std::clock_t begin = std::clock();
  const Prediction made = predict(list, hardware_with(static_cast<std::int64_t>(64 * values)),
                                  {.policy = Policy::belady}, Record::totals);
  EXPECT_EQ(made.in_bytes, static_cast<std::int64_t>(64 * values));
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Tensors in small parts (--granularity) are many values of one step.
TEST(LongProgram, waits_for_many_values_in_time_that_grows_with_them) {
  const double begin_s = cpu_time_of_step_s(10'000);
  EXPECT_LT(cpu_time_of_step_s(160'000), 32 * begin_s + 0.2);  // it was 200 times as long
}

}  // namespace
}  // namespace strata
