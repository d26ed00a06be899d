// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/traffic_bound.hpp"

#include "strata/predict/bounds/every_plan_test.hpp"
#include "strata/training/random_program_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using random_programs::any_program;
using random_programs::ProgramShape;

/// Compulsory traffic by its definition in words, value by value.
std::int64_t compulsory_counted(const Program& program) {
  std::int64_t bytes = 0;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    bool is_first = true;
    bool is_written = false;
    for (const Use& use : program.uses) {
      if (use.value != id) continue;
      if (is_first && use.reads) bytes += program.values[id].bytes;
      is_first = false;
      is_written |= use.writes;
    }
    if (is_written && program.values[id].is_result) bytes += program.values[id].bytes;
  }
  return bytes;
}

void expect_falling_and_convex(const TrafficBound& bound) {
  ASSERT_FALSE(bound.pieces.empty());
  EXPECT_EQ(bound.pieces.front().from_capacity_bytes, 0);
  EXPECT_EQ(bound.pieces.back().slope, 0);
  for (std::size_t i = 1; i < bound.pieces.size(); ++i) {
    EXPECT_LT(bound.pieces[i].slope, bound.pieces[i - 1].slope);
    EXPECT_LT(bound.pieces[i - 1].from_capacity_bytes, bound.pieces[i].from_capacity_bytes);
    EXPECT_EQ(bound.bytes_at(bound.pieces[i].from_capacity_bytes), bound.pieces[i].bytes);
    EXPECT_EQ(bound.bytes_at(bound.pieces[i].from_capacity_bytes - 1),
              bound.pieces[i].bytes + bound.pieces[i - 1].slope);
  }
}

TEST(TrafficBound, is_falling_convex_and_ends_at_what_must_move) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 30, .most_values = 12});
    const TrafficBound physical = physical_traffic_bound(program);
    const TrafficBound model = model_traffic_bound(program);
    for (const TrafficBound& bound : {physical, model}) {
      expect_falling_and_convex(bound);
      EXPECT_EQ(bound.compulsory_bytes, compulsory_counted(program));
      EXPECT_EQ(bound.pieces.back().bytes, bound.compulsory_bytes);
    }
    for (std::int64_t capacity = 0; capacity <= model.enough_capacity_bytes(); ++capacity)
      EXPECT_LE(physical.bytes_at(capacity), model.bytes_at(capacity)) << capacity;
    EXPECT_LE(physical.enough_capacity_bytes(), model.enough_capacity_bytes());
  }
}

TEST(TrafficBound, is_never_above_the_best_of_all_plans) {
  std::size_t plans = 0;
  std::size_t tight = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 7, .most_values = 6});
    const AccessList list(program);
    if (every_plan::candidates(list).size() > 9) continue;
    const TrafficBound physical = physical_traffic_bound(program);
    const TrafficBound model = model_traffic_bound(program);
    std::int64_t best_so_far = std::numeric_limits<std::int64_t>::max();
    std::int64_t at_before = best_so_far;
    for (const std::int64_t capacity : every_plan::capacities(list)) {
      SCOPED_TRACE(capacity);
      const std::int64_t best = every_plan::least_traffic(list, capacity);
      const std::int64_t at = model_traffic_bound_at(program, capacity);
      const std::int64_t just = just_this_capacity_traffic_bound(program, capacity);
      best_so_far = std::min(best_so_far, best);
      ASSERT_GE(best, 0);
      EXPECT_LE(just, best);
      EXPECT_LE(at, best_so_far) << "plans for less are valid for more";
      EXPECT_LE(at, just);
      EXPECT_LE(model.bytes_at(capacity), at);
      EXPECT_LE(model.bytes_at(capacity), model_traffic_bound_at(program, capacity, 1));
      EXPECT_LE(physical.bytes_at(capacity), model.bytes_at(capacity));
      EXPECT_LE(at, at_before) << "falls as the capacity grows";
      at_before = at;
      ++plans;
      tight += just == best ? 1 : 0;
    }
  }
  EXPECT_GT(plans, 2'000u);
  EXPECT_GT(tight, plans * 3 / 4) << "a bound that is rarely met is of no use";
}

/// Four steps over a chain x → a → b → c, and a fifth that reads a again.
Program chain() {
  Program program;
  const auto value = [&](bool is_given, bool is_result) {
    Value made;
    made.is_given = is_given;
    made.is_result = is_result;
    made.bytes = 100;
    made.row_bytes = 1;
    program.values.push_back(made);
  };
  value(true, false);
  value(false, false);
  value(false, false);
  value(false, true);
  const auto step = [&](std::vector<Use> uses) {
    Step made;
    made.first_use = static_cast<std::uint32_t>(program.uses.size());
    program.steps.push_back(made);
    program.uses.insert(program.uses.end(), uses.begin(), uses.end());
  };
  step({{0, true, false}, {1, false, true}});
  step({{1, true, false}, {2, false, true}});
  step({{1, true, false}, {2, true, false}, {3, false, true}});
  return program;
}

TEST(TrafficBound, of_a_chain_is_what_one_counts_by_hand) {
  const Program program = chain();
  const TrafficBound physical = physical_traffic_bound(program);
  EXPECT_EQ(physical.compulsory_bytes, 200);
  // Nothing kept: a is read twice and written once, b once and once.
  EXPECT_EQ(physical.bytes_at(0), 200 + 300 + 200);
  // 100 bytes between steps keep a over the first gap (1) and b over the second (2, its write too).
  EXPECT_EQ(physical.bytes_at(100), 700 - 300);
  EXPECT_EQ(physical.bytes_at(200), 200);
  EXPECT_EQ(physical.enough_capacity_bytes(), 200);
  // In a plan a and b also need room together in the second step, and the third has three values.
  const TrafficBound model = model_traffic_bound(program);
  EXPECT_EQ(model.enough_capacity_bytes(), 200);
  EXPECT_EQ(just_this_capacity_traffic_bound(program, 300), 200);
}

TEST(TrafficBound, is_left_out_for_long_programs_with_a_reason) {
  Program program;
  program.steps.resize(5'000);
  EXPECT_FALSE(reason_against_bounds(program));
  program.steps.resize(5'001);
  const auto reason = reason_against_bounds(program);
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("5001"), std::string::npos);
  EXPECT_NE(reason->find("--bounds always"), std::string::npos);
}

TEST(TrafficBound, of_an_empty_program_is_nothing) {
  EXPECT_EQ(physical_traffic_bound({}).bytes_at(0), 0);
  EXPECT_EQ(model_traffic_bound({}).bytes_at(10), 0);
  EXPECT_EQ(model_traffic_bound_at({}, 10), 0);
  EXPECT_EQ(just_this_capacity_traffic_bound({}, 10), 0);
}

}  // namespace
}  // namespace strata
