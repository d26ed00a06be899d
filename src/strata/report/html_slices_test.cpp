// SPDX-License-Identifier: Apache-2.0
#include "strata/report/html_slices.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

struct SliceSums {
  double busy_s = 0;
  std::int64_t bytes = 0;
  std::int64_t largest = 0;
  std::int64_t count = 0;
};

SliceSums sums_of(const std::vector<TimeSlice>& slices) {
  SliceSums sums;
  for (const TimeSlice& slice : slices) {
    sums.busy_s += slice.busy();
    sums.bytes += slice.bytes;
    sums.largest = std::max(sums.largest, slice.bytes);
    sums.count += slice.count;
  }
  return sums;
}

std::vector<TimeSlice> random_slices(std::mt19937& random, std::size_t count) {
  std::exponential_distribution<double> time(1e4);
  std::vector<TimeSlice> slices;
  double at_s = 0;
  for (std::size_t i = 0; i < count; ++i) {
    at_s += time(random);  // a pause
    const double end_s = at_s + time(random);
    slices.push_back({.start_s = at_s,
                      .end_s = end_s,
                      .bytes = static_cast<std::int64_t>(random() % 1000),
                      .name = static_cast<std::int64_t>(i),
                      .other = static_cast<std::int64_t>(i) + 1});
    at_s = end_s;
  }
  return slices;
}

TEST(TimeSlices, taken_together_lose_nothing_and_stay_in_order) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<TimeSlice> all = random_slices(random, 1 + random() % 300);
    const std::size_t most = 1 + random() % 100;
    const double end_s = all.back().end_s;
    const std::vector<TimeSlice> few = taken_together(all, end_s, most);
    EXPECT_LE(few.size(), std::max<std::size_t>(most, 1));
    const SliceSums before = sums_of(all);
    const SliceSums after = sums_of(few);
    EXPECT_EQ(after.count, static_cast<std::int64_t>(all.size()));
    EXPECT_EQ(after.bytes, before.bytes);
    EXPECT_NEAR(after.busy_s, before.busy_s, 1e-12);
    for (std::size_t i = 0; i + 1 < few.size(); ++i) EXPECT_LE(few[i].end_s, few[i + 1].start_s);
    EXPECT_EQ(sums_of(taken_together(all, end_s, most, Together::largest)).largest, before.largest);
  }
}

TEST(TimeSlices, have_the_name_of_the_longest) {
  const std::vector<TimeSlice> all = {{.start_s = 0.0, .end_s = 0.1, .name = 1, .other = 10},
                                      {.start_s = 0.1, .end_s = 0.4, .name = 2, .other = 20},
                                      {.start_s = 0.4, .end_s = 0.6, .name = 3, .other = 30}};
  const std::vector<TimeSlice> one = taken_together(all, 1.0, 1);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one.front().name, 2);
  EXPECT_EQ(one.front().other, 20);
  EXPECT_EQ(one.front().count, 3);
}

TEST(TimeSlices, stay_as_they_are_where_there_is_room) {
  std::mt19937 random(1);
  const std::vector<TimeSlice> all = random_slices(random, 40);
  EXPECT_EQ(taken_together(all, all.back().end_s, 40).size(), 40U);
}

}  // namespace
}  // namespace strata
