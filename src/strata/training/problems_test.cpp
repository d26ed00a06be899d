// SPDX-License-Identifier: Apache-2.0
#include "strata/training/program.hpp"
#include "strata/training/random_program_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

Program two_steps() {
  Program program;
  program.values = {{.is_given = true, .bytes = 8, .row_bytes = 4}, {.bytes = 8, .row_bytes = 4}};
  program.steps = {{.first_use = 0, .flop = 10, .mac = 5}, {.first_use = 2}};
  program.uses = {{0, true, false}, {1, false, true}, {1, true, false}};
  return program;
}

std::size_t problems_after(void (*change)(Program&)) {
  Program program = two_steps();
  change(program);
  return problems_of(program).size();
}

TEST(Problems, are_none_in_a_good_program) { EXPECT_EQ(problems_of(two_steps()).size(), 0U); }

TEST(Problems, are_seen_one_by_one) {
  EXPECT_EQ(problems_after([](Program& p) { p.values[0].is_given = false; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.uses[1].value = 7; }), 2U);  // and 1 is never made
  EXPECT_EQ(problems_after([](Program& p) { p.uses[1] = {0, true, false}; }), 2U);
  EXPECT_EQ(problems_after([](Program& p) { p.uses[2].reads = false; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.values[1].bytes = 0; }), 2U);  // and its row is more
  EXPECT_EQ(problems_after([](Program& p) { p.values[1].row_bytes = 9; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.steps[0].mac = 6; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.steps[1].first_use = 9; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.shared_operands = {{1, {}, 0}}; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.shared_operands = {{2, {}, no_value}}; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.steps[0].first_use = 1; }), 1U);
  EXPECT_EQ(problems_after([](Program& p) { p.values.push_back({.is_result = true, .bytes = 1}); }),
            1U);
}

TEST(RandomPrograms, are_valid_and_of_every_kind) {
  std::size_t writes = 0, reads = 0, results = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const Program program = random_programs::any_program(seed);
    ASSERT_EQ(problems_of(program), std::vector<std::string>{}) << "seed " << seed;
    for (const Use& use : program.uses) writes += use.writes, reads += use.reads;
    for (const Value& value : program.values) results += value.is_result;
  }
  EXPECT_GT(writes, 500U);
  EXPECT_GT(reads, 500U);
  EXPECT_GT(results, 50U);
}

TEST(RandomPrograms, can_be_read_only_with_equal_sizes) {
  const Program program = random_programs::any_program(3, {.equal_sizes = true, .read_only = true});
  for (const Use& use : program.uses) EXPECT_TRUE(use.reads && !use.writes);
  for (const Value& value : program.values) EXPECT_EQ(value.bytes, program.values[0].bytes);
}

}  // namespace
}  // namespace strata
