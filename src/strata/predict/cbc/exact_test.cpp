// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/exact.hpp"

#include "strata/predict/bounds/every_plan_test.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/training/random_program_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using random_programs::any_program;
using random_programs::Shape;

TEST(ExactPlan, is_the_best_of_all_plans) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = any_program(seed, {.most_steps = 8, .most_values = 6});
    const AccessList list(program);
    if (every_plan::candidates(list).size() > 10) continue;
    for (const std::int64_t capacity : every_plan::capacities(list)) {
      SCOPED_TRACE(capacity);
      const ExactPlan exact = exact_plan(list, capacity);
      EXPECT_EQ(problems_of(list, exact.plan), std::vector<std::string>{});
      EXPECT_EQ(traffic_of(list, exact.plan).total(), exact.traffic_bytes);
      EXPECT_TRUE(exact.is_optimal());
      EXPECT_EQ(exact.traffic_bytes, every_plan::least_traffic(list, capacity));
      ++compared;
    }
  }
  EXPECT_GT(compared, 200u);
}

}  // namespace
}  // namespace strata
