// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/compare.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

ProfileRow row_of(std::string layer, std::string pass, double time_s, std::string op = "linear") {
  ProfileRow row;
  row.layer = std::move(layer);
  row.pass = std::move(pass);
  row.op = std::move(op);
  row.block = row.layer;
  row.totals.time_s = time_s;
  row.totals.steps = 1;
  return row;
}

const ComparedRow* find_row(const ProfileComparison& comparison, std::string_view layer,
                            std::string_view pass) {
  for (const ComparedRow& row : comparison.rows) {
    if (row.layer == layer && row.pass == pass) return &row;
  }
  return nullptr;
}

TEST(CompareProfiles, sums_to_the_coarser_of_the_two) {
  Profile a, b;
  a.rows = {row_of("fc", "forward", 1), row_of("fc", "backward", 2),
            row_of("fc", "backward", 0.5, "gradient_sum"), row_of("out", "backward_input", 1)};
  b.evidence = Evidence::measured;
  b.rows = {row_of("fc", "forward", 2), row_of("fc", "backward_input", 3),
            row_of("fc", "backward_weight", 4), row_of("out", "backward_input", 5),
            row_of("out", "backward_weight", 6)};
  const ProfileComparison comparison = compare_profiles(a, b);
  ASSERT_EQ(comparison.rows.size(), 4U);
  const ComparedRow* joined = find_row(comparison, "fc", "backward");
  ASSERT_NE(joined, nullptr);
  EXPECT_EQ(joined->a_s(), 2.5);
  EXPECT_EQ(joined->b_s(), 7);
  EXPECT_EQ(joined->op, "linear");
  EXPECT_EQ(find_row(comparison, "out", "backward_input")->b_s(), 5);
  const ComparedRow* only_b = find_row(comparison, "out", "backward_weight");
  EXPECT_FALSE(only_b->a.has_value());
  EXPECT_EQ(only_b->difference_s(), 6);
  EXPECT_EQ(largest_differences(comparison).front()->b_s(), 6);
  EXPECT_DOUBLE_EQ(comparison.ratio().value(), 20 / 4.5);
  EXPECT_EQ(comparison.b.evidence, Evidence::measured);
}

// The kernels take the same, the host half: the step is what people wait for.
TEST(CompareProfiles, RecordingsCompareByTheirSteps) {
  const auto recorded = [](double step_s, double host_s) {
    Profile profile;
    profile.evidence = Evidence::measured;
    profile.rows = {row_of("fc", "forward", 50)};
    profile.iteration_s = step_s;
    profile.iteration_from = TimeFrom::step;
    profile.recorded = RecordedStep{.busy_s = 50, .idle = {{"host", host_s}, {"copy", 10}}};
    return profile;
  };
  const ProfileComparison halved = compare_profiles(recorded(216, 156), recorded(108, 48));
  EXPECT_DOUBLE_EQ(halved.ratio().value(), 0.5);
  EXPECT_TRUE(halved.is_beyond(0.05));
  EXPECT_EQ(halved.total_a.time_s, halved.total_b.time_s);
  ASSERT_EQ(halved.idle.size(), 2U);
  EXPECT_EQ(halved.idle[0].cause, "host");
  EXPECT_EQ(halved.idle[0].a_s - halved.idle[0].b_s, 108);
}

// By type a comparison adds up what each profile's own types are.
TEST(CompareProfiles, sums_of_gradients_stand_apart_where_both_tell_them) {
  Profile a, b;
  a.rows = {row_of("relu", "backward", 2, "relu"), row_of("relu", "backward", 5, "gradient_sum"),
            row_of("fc", "backward_input", 3), row_of("fc", "backward_weight", 4),
            row_of("fc", "backward", 1, "gradient_sum")};
  b = a;
  const ProfileComparison comparison = compare_profiles(a, b);
  EXPECT_EQ(comparison.rows.size(), 5U);
  for (const ComparedGroup& group : grouped(comparison, &ComparedRow::op)) {
    const double expected = group.name == "relu" ? 2 : group.name == "gradient_sum" ? 6 : 7;
    EXPECT_EQ(group.a.time_s, expected) << group.name;
    EXPECT_EQ(group.b.time_s, expected) << group.name;
  }
  b.rows.pop_back();  // now nobody can say what of fc's two gradients is the sum
  EXPECT_EQ(find_row(compare_profiles(a, b), "fc", "backward")->a_s(), 8);
  EXPECT_EQ(find_row(compare_profiles(a, b), "fc", "backward")->b_s(), 7);
}

TEST(CompareProfiles, is_beyond_a_threshold_in_either_direction) {
  Profile a, b;
  a.rows = {row_of("fc", "forward", 1.0)};
  b.rows = {row_of("fc", "forward", 1.2)};
  EXPECT_TRUE(compare_profiles(a, b).is_beyond(0.1));
  EXPECT_TRUE(compare_profiles(b, a).is_beyond(0.1));
  EXPECT_FALSE(compare_profiles(a, b).is_beyond(0.25));
  EXPECT_FALSE(compare_profiles(a, a).is_beyond(0));
}

// The last write-backs of a prediction and the gaps of a measurement belong to no row.
TEST(CompareProfiles, is_about_iterations_not_about_sums_of_rows) {
  Profile a, b;
  a.rows = {row_of("fc", "forward", 1)};
  b.rows = {row_of("fc", "forward", 1)};
  a.iteration_s = 1.5;
  a.drain_s = 0.5;
  b.evidence = Evidence::measured;
  b.iteration_s = 3;
  const ProfileComparison comparison = compare_profiles(a, b);
  EXPECT_EQ(comparison.iteration_a.drain_s, 0.5);
  EXPECT_EQ(comparison.iteration_b.gaps_s, 2);
  EXPECT_EQ(comparison.ratio().value(), 2);
  EXPECT_TRUE(comparison.is_beyond(0.5));
  EXPECT_FALSE(comparison.is_beyond(1));
}

TEST(CompareProfiles, needs_times) {
  Profile a, b;
  a.rows = b.rows = {row_of("fc", "forward", 1)};
  b.columns.has_time = false;
  EXPECT_THROW(compare_profiles(a, b), Error);
}

// Whatever the rows are, nothing is lost or counted twice.
TEST(CompareProfiles, keeps_all_time) {
  std::mt19937 random(5);
  const std::vector<std::string> passes = {"forward", "backward", "backward_input",
                                           "backward_weight", "update"};
  for (int round = 0; round < 100; ++round) {
    Profile a, b;
    for (Profile* profile : {&a, &b}) {
      const std::size_t rows = random() % 20;
      for (std::size_t i = 0; i < rows; ++i) {
        profile->rows.push_back(row_of("layer" + std::to_string(random() % 4),
                                       passes[random() % passes.size()],
                                       static_cast<double>(random() % 100)));
      }
    }
    const ProfileComparison comparison = compare_profiles(a, b);
    double sum_a = 0, sum_b = 0;
    for (const ComparedRow& row : comparison.rows) {
      EXPECT_TRUE(row.a || row.b);
      sum_a += row.a_s();
      sum_b += row.b_s();
    }
    EXPECT_DOUBLE_EQ(sum_a, comparison.total_a.time_s);
    EXPECT_DOUBLE_EQ(sum_b, comparison.total_b.time_s);
    double grouped_a = 0;
    for (const ComparedGroup& group : grouped(comparison, &ComparedRow::pass))
      grouped_a += group.a.time_s;
    EXPECT_DOUBLE_EQ(grouped_a, sum_a);
  }
}

}  // namespace
}  // namespace strata
