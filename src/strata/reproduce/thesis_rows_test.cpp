// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_rows.hpp"

#include "strata/reproduce/claim_counts.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(ThesisRows, shares_hold_within_points) {
  EXPECT_TRUE(within_points(-0.481, -0.452).holds);
  EXPECT_FALSE(within_points(-0.481, -0.450).holds);
  EXPECT_TRUE(within_points(-0.70, -0.66, about_points).holds);
  EXPECT_FALSE(within_points(-0.70, -0.64, about_points).holds);
  EXPECT_EQ(within_points(0, 0, about_points).rule, "within 5 percentage points");
}

TEST(ThesisRows, factors_hold_within_a_twentieth) {
  EXPECT_TRUE(within_factor(1.40, 1.44).holds);
  EXPECT_FALSE(within_factor(1.40, 1.46).holds);
  EXPECT_FALSE(within_factor(1.40, 1.34).holds);
}

TEST(ThesisRows, bounds_hold_on_their_side) {
  EXPECT_TRUE(below(1.09, 1.10, "1.10×").holds);
  EXPECT_FALSE(below(1.10, 1.10, "1.10×").holds);
  EXPECT_TRUE(at_least(256, 256, "256 MiB").holds);
  EXPECT_FALSE(at_least(255, 256, "256 MiB").holds);
  EXPECT_EQ(at_least(1, 2, "2").rule, "at least 2");
}

TEST(ThesisRows, a_range_is_not_rounded) {
  EXPECT_TRUE(between(100, 1e2, 1e4, "10² to 10⁴").holds);
  EXPECT_FALSE(between(93, 1e2, 1e4, "10² to 10⁴").holds);
  EXPECT_FALSE(between(10'001, 1e2, 1e4, "10² to 10⁴").holds);
}

TEST(ThesisRows, sizes_and_orders) {
  EXPECT_TRUE(rounds_to(98, 98 << 20).holds);
  EXPECT_TRUE(rounds_to(6, 14 * 14 * 256 * 32 * 4).holds);  // 6.125 MiB
  EXPECT_FALSE(rounds_to(6, 7 * 7 * 512 * 32 * 4).holds);
  EXPECT_TRUE(same_order(1e5, 1.08e5).holds);
  EXPECT_TRUE(same_order(1e5, 0.4e5).holds);
  EXPECT_FALSE(same_order(1e5, 0.2e5).holds);
  EXPECT_FALSE(same_order(1e5, 0).holds);
}

TEST(ThesisRows, a_note_is_the_rule_and_why_it_fails) {
  ThesisRows rows;
  rows.add({"figure 4.1", "net", "time", "1.00×", "1.00×", "unused"}, within_factor(1, 1));
  rows.add({"8", "net", "time", "1.00×", "2.00×", "another network"}, within_factor(1, 2));
  rows.beside({"8", "net", "time as published", "1.00×", "2.00×"}, "as published");
  const std::vector<Finding> all = std::move(rows).sorted();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].holds);
  EXPECT_EQ(all[0].note, "rule: within 0.05×; another network");
  EXPECT_FALSE(all[1].is_printed);
  EXPECT_EQ(all[1].note, "as published");
  EXPECT_TRUE(all[2].holds);
  EXPECT_EQ(all[2].note, "rule: within 0.05×");
}

TEST(ThesisRows, networks_that_the_thesis_gives_come_first_and_others_stand_apart) {
  ThesisRows rows;
  rows.beside({std::string(readings_observation), "resnet50_keras", "time", "", "1"}, "");
  rows.add({"1", "gnmt_thesis", "time", "1.00×", "2.00×", "", "s (observation 1)"},
           within_factor(1, 2));
  rows.add({"8", "resnet50_keras", "time", "1.00×", "1.00×", "", "t (observation 8)"},
           within_factor(1, 1));
  rows.add({"2", "resnet50_keras", "time", "1.00×", "1.00×", "", "u (observation 2)"},
           within_factor(1, 1));
  const std::vector<Finding> all = std::move(rows).sorted();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].observation, "2");
  EXPECT_EQ(all[1].observation, "8");
  EXPECT_EQ(all[2].network, "gnmt_thesis");
  EXPECT_EQ(all[3].observation, readings_observation);
  const std::vector<ClaimCounts> counts = claim_counts(all);
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0].rows.held, 2U);
  EXPECT_EQ(counts[0].rows.statements(), 2U);
  EXPECT_EQ(counts[1].apart, inferred_networks);
  EXPECT_EQ(counts[1].rows.not_held, 1U);
}

}  // namespace
}  // namespace strata
