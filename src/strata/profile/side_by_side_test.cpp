// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/side_by_side.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

Profile profile_with(const std::vector<std::tuple<std::string, std::string, double>>& rows) {
  Profile profile;
  for (const auto& [layer, pass, time_s] : rows) {
    ProfileRow row;
    row.layer = row.block = layer;
    row.pass = pass;
    row.op = layer.substr(0, 4);
    row.totals.time_s = time_s;
    row.totals.steps = 1;
    profile.rows.push_back(row);
  }
  return profile;
}

TEST(SideBySide, RowsOfThreeAreJoinedAndNothingIsLost) {
  const std::vector<Profile> profiles = {
      profile_with({{"conv1", "forward", 1}, {"conv1", "backward", 4}, {"conv2", "forward", 2}}),
      profile_with({{"conv1", "backward_input", 1}, {"conv1", "backward_weight", 2}}),
      profile_with({{"conv2", "forward", 3}, {"relu", "forward", 5}})};
  const SideBySide all = side_by_side(profiles);
  ASSERT_EQ(all.rows.size(), 4U);
  EXPECT_EQ(all.rows[1].pass, "backward");
  ASSERT_TRUE(all.rows[1].totals[1]);
  EXPECT_EQ(all.rows[1].totals[1]->time_s, 3);
  EXPECT_FALSE(all.rows[1].totals[2]);
  EXPECT_EQ(all.rows[1].spread_s(), 4);  // the third has none of it
  EXPECT_EQ(all.rows[3].layer, "relu");
  const std::vector<SideRow> types = grouped(all, &SideRow::op);
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(types[0].layer, "conv");
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (const SideRow& row : all.rows) sum += row.totals[i] ? row.totals[i]->time_s : 0;
    EXPECT_EQ(sum, all.iterations[i].time_s) << i;
  }
}

TEST(SideBySide, TwoAreAsCompareHasThem) {
  const std::vector<Profile> profiles = {
      profile_with({{"a", "forward", 1}, {"a", "backward", 4}}),
      profile_with({{"a", "backward_input", 1}, {"a", "backward_weight", 2}, {"b", "forward", 7}})};
  const SideBySide all = side_by_side(profiles);
  const ProfileComparison two = compare_profiles(profiles[0], profiles[1]);
  ASSERT_EQ(all.rows.size(), two.rows.size());
  for (std::size_t i = 0; i < two.rows.size(); ++i) {
    EXPECT_EQ(all.rows[i].layer, two.rows[i].layer);
    EXPECT_EQ(all.rows[i].pass, two.rows[i].pass);
    EXPECT_EQ(all.rows[i].totals[0] ? all.rows[i].totals[0]->time_s : 0, two.rows[i].a_s());
    EXPECT_EQ(all.rows[i].totals[1] ? all.rows[i].totals[1]->time_s : 0, two.rows[i].b_s());
  }
}

TEST(SideBySide, TimesAreNeeded) {
  std::vector<Profile> profiles = {profile_with({{"a", "forward", 1}}), Profile{}};
  profiles[1].columns.has_time = false;
  EXPECT_THROW(side_by_side(profiles), Error);
}

}  // namespace
}  // namespace strata
