// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_policies.hpp"
#include "strata/reproduce/thesis_words.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

// What the thesis prints holds by its own rule, and what is far from it does not.
TEST(ThesisNumbers, hold_as_printed_and_not_far_from_it) {
  for (const PrintedNumber& number : printed_numbers()) {
    const std::string what = std::string(number.observation) + " " + std::string(number.what);
    EXPECT_TRUE(number.verdict(number.printed).holds) << what;
    const double points = number.form == ThesisForm::about ? 0.05 : 0.03;
    const double tolerance = number.form == ThesisForm::factor ? most_factor : points;
    for (const double side : {-1.0, 1.0}) {
      EXPECT_TRUE(number.verdict(number.printed + side * 0.99 * tolerance).holds) << what;
      EXPECT_FALSE(number.verdict(number.printed + side * 1.01 * tolerance).holds) << what;
    }
    EXPECT_NEAR(number.distance(number.printed + 0.02), 2, 1e-9);
    EXPECT_TRUE(number.sentence.ends_with(fmt::format("(observation {})", number.observation)));
  }
}

TEST(ThesisWords, hold_on_one_side_of_their_bound) {
  for (const WordedClaim& claim : worded_claims()) {
    const std::string what = std::string(claim.observation) + " " + std::string(claim.what);
    const bool is_below = claim.side == ThesisSide::below;
    EXPECT_EQ(claim.verdict(claim.bound - 0.001).holds, is_below) << what;
    EXPECT_EQ(claim.verdict(claim.bound).holds, !is_below) << what;
    EXPECT_EQ(claim.verdict(claim.bound + 0.001).holds, !is_below) << what;
    EXPECT_TRUE(claim.sentence.ends_with(fmt::format("(observation {})", claim.observation)));
  }
}

TEST(ThesisNumbers, distances_are_means_over_all_numbers) {
  std::vector<std::vector<double>> found;
  for (const PrintedNumber& number : printed_numbers())
    found.push_back({number.printed, number.printed + 0.01, number.printed, number.printed - 0.02});
  const std::vector<double> distances = distances_by_reading(found);
  ASSERT_EQ(distances.size(), 4U);
  EXPECT_NEAR(distances[0], 0, 1e-9);
  EXPECT_NEAR(distances[1], 1, 1e-9);
  EXPECT_NEAR(distances[3], 2, 1e-9);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (thesis_networks[printed_numbers()[i].network].is_inferred) found[i][1] += 1;
  }
  EXPECT_NEAR(distances_by_reading(found, /*of_given_alone=*/true)[1], 1, 1e-9);
  EXPECT_GT(distances_by_reading(found)[1], 10);
}

TEST(ThesisPolicies, the_largest_rise_is_from_one_capacity_to_the_next) {
  std::vector<PolicyTimes> times = {{24, 10, 100}, {26, 9, 90}, {28, 9.09, 95}, {30, 8, 80}};
  ASSERT_TRUE(largest_rise(times));
  EXPECT_EQ(largest_rise(times)->from_mib, 26);
  EXPECT_EQ(largest_rise(times)->to_mib, 28);
  EXPECT_NEAR(largest_rise(times)->share, 0.01, 1e-9);
  EXPECT_EQ(largest_rise(times)->more_bytes, 5);
  times.erase(times.begin() + 2);
  EXPECT_FALSE(largest_rise(times));
}

}  // namespace
}  // namespace strata
