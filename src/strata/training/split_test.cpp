// SPDX-License-Identifier: Apache-2.0
#include "strata/training/split.hpp"

#include "strata/base/error.hpp"
#include "strata/training/random_program_test.hpp"
#include "strata/training/step_limit.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(Split, cuts_every_value_and_keeps_the_work) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Program program = random_programs::any_program(seed, {.most_bytes = 40});
    for (const std::int64_t granularity : {1, 3, 7, 1000}) {
      const Program parts = split_values(program, granularity);
      ASSERT_EQ(problems_of(parts), std::vector<std::string>{});
      ASSERT_EQ(parts.steps.size(), program.steps.size());
      for (const Value& value : parts.values) EXPECT_LE(value.bytes, granularity);
      for (StepId step = 0; step < program.steps.size(); ++step) {
        EXPECT_EQ(parts.steps[step].flop, program.steps[step].flop);
        std::int64_t read = 0, written = 0, rows = 0, read_parts = 0, written_parts = 0,
                     row_parts = 0;
        for (const Use& use : program.uses_of(step)) {
          const Value& value = program.values[use.value];
          read += use.reads ? value.bytes : 0;
          written += use.writes ? value.bytes : 0;
          rows += value.row_bytes;
        }
        for (const Use& use : parts.uses_of(step)) {
          const Value& value = parts.values[use.value];
          read_parts += use.reads ? value.bytes : 0;
          written_parts += use.writes ? value.bytes : 0;
          row_parts += value.row_bytes;
        }
        EXPECT_EQ(read_parts, read);
        EXPECT_EQ(written_parts, written);
        EXPECT_EQ(row_parts, rows);
      }
    }
  }
}

TEST(Split, leaves_small_values_as_they_are) {
  const Program program = random_programs::any_program(5, {.most_bytes = 40});
  const Program parts = split_values(program, 40);
  EXPECT_EQ(parts.values.size(), program.values.size());
  EXPECT_EQ(parts.uses.size(), program.uses.size());
}

TEST(Split, refuses_what_would_never_end) {
  Program program;
  program.values = {{.is_given = true, .bytes = std::int64_t{1} << 40, .row_bytes = 1}};
  EXPECT_THROW(split_values(program, 0), Error);
  EXPECT_THROW(split_values(program, 1), Error);
  EXPECT_EQ(split_values(program, 1 << 20).values.size(), 1U << 20);
}

// A plan holds as many parts and uses of them as an iteration may have uses.
TEST(Split, counts_parts_and_their_uses_against_the_limit_of_uses) {
  Program program;
  program.values = {{.is_given = true, .bytes = 10 * most_uses + 1, .row_bytes = 1}};
  EXPECT_THROW(split_values(program, 10), Error);
  program.values[0].bytes = 4 * most_uses;
  program.steps = {{.first_use = 0}, {.first_use = 1}, {.first_use = 2}};
  program.uses = {{0, true, false}, {0, true, false}, {0, true, false}};
  EXPECT_THROW(split_values(program, 10), Error);
  EXPECT_EQ(split_values(program, 1000).uses.size(), 3U * 4 * most_uses / 1000);
}

}  // namespace
}  // namespace strata
