// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/way_experience.hpp"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

TEST(WayExperience, gives_up_who_is_far_behind_four_times) {
  WayExperience experience;
  for (int trial = 0; trial < 4; ++trial) {
    EXPECT_FALSE(experience.is_hopeless("forward fp32", "slow"));
    experience.learn("forward fp32", {{"slow", 5.1 + trial}, {"middle", 4.9}, {"best", 1}});
  }
  EXPECT_TRUE(experience.is_hopeless("forward fp32", "slow"));
  EXPECT_FALSE(experience.is_hopeless("forward fp32", "middle"));
  EXPECT_FALSE(experience.is_hopeless("forward fp32", "best"));
  EXPECT_FALSE(experience.is_hopeless("forward fp32", "never seen"));
  EXPECT_FALSE(experience.is_hopeless("forward bf16", "slow"));
}

TEST(WayExperience, keeps_who_was_near_once) {
  WayExperience experience;
  experience.learn("forward", {{"uneven", 1.2}});
  for (int trial = 0; trial < 20; ++trial) experience.learn("forward", {{"uneven", 100}});
  EXPECT_FALSE(experience.is_hopeless("forward", "uneven"));
}

}  // namespace
}  // namespace strata::test
