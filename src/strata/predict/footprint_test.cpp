// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/footprint.hpp"

#include "strata/training/random_program_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

/// Step by step and value by value: is it needed now?
std::int64_t peak_counted_slowly(const Program& program) {
  const auto steps = static_cast<StepId>(program.steps.size());
  const auto is_used_in = [&](ValueId id, StepId from, StepId end) {
    for (StepId step = from; step < end; ++step) {
      for (const Use& use : program.uses_of(step)) {
        if (use.value == id) return true;
      }
    }
    return false;
  };
  std::int64_t most = 0;
  for (StepId now = 0; now < steps; ++now) {
    std::int64_t bytes = 0;
    for (ValueId id = 0; id < program.values.size(); ++id) {
      const Value& value = program.values[id];
      const bool is_permanent = value.kind == ValueKind::weight ||
                                value.kind == ValueKind::constant || value.kind == ValueKind::state;
      const bool is_used = is_used_in(id, 0, steps);
      const bool has_begun = value.is_given || is_used_in(id, 0, now + 1);
      const bool has_not_ended = value.is_result || is_used_in(id, now, steps);
      if (is_permanent || (is_used && has_begun && has_not_ended)) bytes += value.bytes;
    }
    most = std::max(most, bytes);
  }
  return most;
}

TEST(Footprint, is_the_most_that_lives_at_once) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Program program = random_programs::Generator(seed, {}).program();
    EXPECT_EQ(footprint_of(program).peak_bytes, peak_counted_slowly(program)) << seed;
  }
}

}  // namespace
}  // namespace strata
