// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/profile.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace strata {
namespace {

Profile random_profile(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  Profile profile;
  for (int i = below(40); i >= 0; --i) {
    ProfileRow row;
    row.layer = "layer" + std::to_string(below(5));
    row.pass = below(2) == 0 ? "forward" : "backward";
    row.totals.steps = 1;
    row.totals.time_s = below(1000);
    row.totals.in_bytes = below(1000);
    row.totals.out_bytes = below(1000);
    profile.rows.push_back(row);
  }
  return profile;
}

TEST(Profile, implementations_are_named_once_with_algorithms_that_do_fewer_operations) {
  std::string all;
  for (const char* one : {"winograd4", "", "unroll", "winograd4", "winograd"}) {
    add_implementation(all, one);
  }
  EXPECT_EQ(all, "winograd4, unroll, winograd");
  EXPECT_TRUE(does_fewer_operations(all));
  std::string engine = "cudnn:engine_17";
  EXPECT_FALSE(does_fewer_operations(engine));
  add_algorithm(engine, "sm80_xmma_gemm_f32f32");
  EXPECT_EQ(engine, "cudnn:engine_17");
  for (int i = 0; i < 2; ++i)
    add_algorithm(engine, "void cudnn::winograd_nonfused::winogradWgradData4x4<float>");
  EXPECT_EQ(engine, "cudnn:engine_17 (winograd)");
}

TEST(Profile, an_iteration_is_busy_has_gaps_and_drains) {
  Profile profile = random_profile(3);
  const double busy_s = total_of(profile).time_s;
  ASSERT_GT(busy_s, 0);
  const IterationTime added = iteration_of(profile);
  EXPECT_EQ(added.from, TimeFrom::rows);
  EXPECT_EQ(added.time_s, busy_s);
  EXPECT_EQ(added.gaps_s, 0);
  profile.rows.front().wall_s = profile.rows.front().totals.time_s + 7;  // between its kernels
  EXPECT_EQ(iteration_of(profile).time_s, busy_s + 7);
  EXPECT_EQ(iteration_of(profile).gaps_s, 7);

  profile.iteration_s = busy_s + 12;
  profile.iteration_from = TimeFrom::whole_iterations;
  profile.drain_s = 2;
  const IterationTime said = iteration_of(profile);
  EXPECT_EQ(said.from, TimeFrom::whole_iterations);
  EXPECT_EQ(said.time_s, busy_s + 12);
  EXPECT_EQ(said.busy_s + said.gaps_s + said.drain_s, said.time_s);
  EXPECT_EQ(said.gaps_s, 10);
  EXPECT_DOUBLE_EQ(said.share_of(said.time_s / 4), 0.25);
  profile.iteration_s = busy_s / 2;  // rows that ran side by side
  EXPECT_EQ(iteration_of(profile).gaps_s, 0);
}

TEST(Profile, ARecordedStepHasGapsThoughItsKernelsAddUpToMore) {
  Profile profile = random_profile(3);
  const double busy_s = total_of(profile).time_s;
  profile.iteration_s = busy_s / 2;
  profile.iteration_from = TimeFrom::step;
  profile.recorded = RecordedStep{.busy_s = busy_s / 4, .idle = {{"host", busy_s / 4}}};
  const IterationTime iteration = iteration_of(profile);
  EXPECT_DOUBLE_EQ(iteration.gaps_s, busy_s / 4);
  EXPECT_DOUBLE_EQ(iteration.overlap_s, busy_s * 3 / 4);
  EXPECT_DOUBLE_EQ(iteration.busy_s - iteration.overlap_s + iteration.gaps_s, iteration.time_s);
}

TEST(Profile, groups_add_up_to_the_rows_and_come_in_their_order) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Profile profile = random_profile(seed);
    std::map<std::string, double> time_s;
    std::vector<std::string> order;
    for (const ProfileRow& row : profile.rows) {
      if (time_s.count(row.layer) == 0) order.push_back(row.layer);
      time_s[row.layer] += row.totals.time_s;
    }
    const std::vector<ProfileGroup> groups = grouped(profile, &ProfileRow::layer);
    ASSERT_EQ(groups.size(), order.size());
    Totals sum;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      EXPECT_EQ(groups[i].name, order[i]);
      EXPECT_EQ(groups[i].totals.time_s, time_s[order[i]]);
      sum += groups[i].totals;
    }
    EXPECT_EQ(sum.steps, static_cast<std::int64_t>(profile.rows.size()));
    EXPECT_EQ(sum.traffic_bytes(), total_of(profile).traffic_bytes());
  }
}

}  // namespace
}  // namespace strata
