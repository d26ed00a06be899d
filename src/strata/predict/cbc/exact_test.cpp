// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/exact.hpp"

#include "strata/predict/bounds/every_plan_test.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/policy.hpp"
#include "strata/training/random_program_test.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace strata {
namespace {

using random_programs::any_program;
using random_programs::ProgramShape;

constexpr ProgramShape long_program{
    .most_steps = 200, .most_values = 80, .most_uses = 6, .most_bytes = 1'000};

void expect_true_claims(const AccessList& list, const ExactPlan& exact) {
  EXPECT_EQ(problems_of(list, exact.plan), std::vector<std::string>{});
  EXPECT_EQ(traffic_of(list, exact.plan).total(), exact.traffic_bytes);
  EXPECT_LE(exact.bound_bytes, exact.traffic_bytes);
}

TEST(ExactPlan, is_the_best_of_all_plans) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 8, .most_values = 6});
    const AccessList list(program);
    if (every_plan::candidates(list).size() > 10) continue;
    for (const std::int64_t capacity : every_plan::capacities(list)) {
      SCOPED_TRACE(capacity);
      const ExactPlan exact = exact_plan(list, capacity, {}, {.enough_gap = 0});
      expect_true_claims(list, exact);
      EXPECT_TRUE(exact.is_optimal());
      EXPECT_EQ(exact.traffic_bytes, every_plan::least_traffic(list, capacity));
      ++compared;
    }
  }
  EXPECT_GT(compared, 200u);
}

/// Belady's theorem, where it holds: equal sizes, nothing written, and all of a step's values on
/// chip while it runs.
TEST(ExactPlan, of_equal_sizes_and_no_writes_is_farthest_next_use_and_the_flow) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 40,
                                               .most_values = 12,
                                               .most_uses = 3,
                                               .equal_sizes = true,
                                               .read_only = true});
    const AccessList list(program);
    for (std::int64_t values = 3; values <= 8; ++values) {
      const std::int64_t capacity = 8 * values;
      const std::int64_t belady =
          traffic_of(list, farthest_next_use_plan(list, capacity, {})).total();
      const ExactPlan exact = exact_plan(list, capacity, {}, {.enough_gap = 0});
      EXPECT_TRUE(exact.is_optimal());
      EXPECT_EQ(belady, exact.traffic_bytes) << capacity;
      EXPECT_EQ(just_this_capacity_traffic_bound(program, capacity), exact.traffic_bytes)
          << capacity;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 240u);
}

TEST(ExactPlan, is_never_above_other_plans_nor_below_the_bound) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 40, .most_values = 20});
    const AccessList list(program);
    const std::vector<std::int64_t> capacities = every_plan::capacities(list);
    for (std::size_t i = 0; i < capacities.size(); i += 1 + capacities.size() / 5) {
      const ExactPlan exact = exact_plan(list, capacities[i], {}, {.enough_gap = 0});
      expect_true_claims(list, exact);
      EXPECT_LE(exact.traffic_bytes,
                traffic_of(list, farthest_next_use_plan(list, capacities[i], {})).total());
      EXPECT_GE(exact.bound_bytes, just_this_capacity_traffic_bound(program, capacities[i]));
    }
  }
}

TEST(ExactPlan, begins_with_the_plan_it_is_given_and_keeps_the_time_limit) {
  const Program program = any_program(3, long_program);
  const AccessList list(program);
  const std::int64_t capacity = every_plan::capacities(list)[2'000];
  const Plan start = farthest_next_use_plan(list, capacity, {});
  const auto begin = std::chrono::steady_clock::now();
  const ExactPlan hurried =
      exact_plan(list, capacity, {}, {.time_limit_s = 0.05, .enough_gap = 0, .start = &start});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  expect_true_claims(list, hurried);
  EXPECT_LE(hurried.traffic_bytes, traffic_of(list, start).total());
  EXPECT_LT(took.count(), 10) << "CBC looks at the clock now and then only";
}

TEST(ExactPlan, says_nothing_on_any_stream) {
  int solved = 0;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Program program = any_program(seed, {.most_steps = 60, .most_values = 30});
    const AccessList list(program);
    const std::vector<std::int64_t> capacities = every_plan::capacities(list);
    const std::int64_t capacity = capacities[capacities.size() / 3];
    const Plan start = farthest_next_use_plan(list, capacity, {});
    const ExactPlan exact = exact_plan(list, capacity, {}, {.enough_gap = 0, .start = &start});
    // Better than the flow can promise: the solver has run.
    if (exact.bound_bytes > just_this_capacity_traffic_bound(program, capacity)) ++solved;
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(solved, 2);
}

TEST(ExactPlan, of_an_empty_program_is_empty) {
  const Program program;
  const ExactPlan exact = exact_plan(AccessList(program), 1);
  EXPECT_TRUE(exact.is_optimal());
  EXPECT_TRUE(exact.plan.uses.empty());
}

}  // namespace
}  // namespace strata
