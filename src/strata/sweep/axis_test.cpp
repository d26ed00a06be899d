// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/axis.hpp"

#include "strata/base/error.hpp"
#include "strata/sweep/grid.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

std::vector<std::string> texts(const Axis& axis) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < axis.size(); ++i) all.push_back(axis.at(i).text);
  return all;
}

Axis capacities(std::string_view text) {
  return Axis("capacity", AxisKind::bytes, text, "--capacity");
}

std::string error_of(AxisKind kind, std::string_view text) {
  try {
    const Axis axis("x", kind, text, "--x");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << text;
    return error.what();
  }
  return "";
}

TEST(Axis, linear_range_includes_its_end) {
  const Axis axis = capacities("24MB:1000MB:2MB");
  ASSERT_EQ(axis.size(), 489);
  EXPECT_EQ(axis.at(0).integer, std::int64_t{24} << 20);
  EXPECT_EQ(axis.at(1).integer, std::int64_t{26} << 20);
  EXPECT_EQ(axis.at(488).integer, std::int64_t{1000} << 20);
  EXPECT_EQ(axis.column(), "capacity_bytes");
}

TEST(Axis, linear_range_stops_before_an_end_it_does_not_meet) {
  const Axis axis("batch", AxisKind::count, "1:10:4", "--batch");
  EXPECT_EQ(texts(axis), (std::vector<std::string>{"1", "5", "9"}));
}

TEST(Axis, geometric_range) {
  const Axis axis("batch", AxisKind::count, "8:256:x2", "--batch");
  EXPECT_EQ(texts(axis), (std::vector<std::string>{"8", "16", "32", "64", "128", "256"}));
}

TEST(Axis, geometric_range_of_whole_numbers_has_none_twice) {
  const Axis axis("batch", AxisKind::count, "1:4:x1.2", "--batch");
  EXPECT_EQ(texts(axis), (std::vector<std::string>{"1", "2", "3", "4"}));
}

TEST(Axis, list_of_values_and_ranges) {
  const Axis axis = capacities("1KB, 4KB:8KB:2KB ,1MB");
  EXPECT_EQ(texts(axis), (std::vector<std::string>{"1024", "4096", "6144", "8192", "1048576"}));
}

TEST(Axis, fractions_meet_their_end) {
  const Axis axis("bandwidth", AxisKind::bytes_per_s, "0.1GB/s:0.7GB/s:0.1GB/s", "--bandwidth");
  EXPECT_EQ(axis.size(), 7);
}

TEST(Axis, a_range_of_a_billion_values_takes_no_memory) {
  const Axis axis("batch", AxisKind::count, "1:1000000000:1", "--batch");
  EXPECT_EQ(axis.at(999'999'999).integer, 1'000'000'000);
}

TEST(Axis, ranges_are_those_of_a_loop) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t first = 1 + static_cast<std::int64_t>(random() % 50);
    const std::int64_t last = first + static_cast<std::int64_t>(random() % 200);
    const std::int64_t step = 1 + static_cast<std::int64_t>(random() % 20);
    std::vector<std::string> expected;
    for (std::int64_t value = first; value <= last; value += step)
      expected.push_back(fmt::format("{}", value));
    const std::string range = fmt::format("{}:{}:{}", first, last, step);
    EXPECT_EQ(texts(Axis("n", AxisKind::count, range, "--n")), expected) << range;
  }
}

TEST(Axis, errors_say_what_is_wrong) {
  const auto bytes = AxisKind::bytes;
  EXPECT_EQ(error_of(bytes, "100MB:24MB:2MB"),
            "--x: the range '100MB:24MB:2MB' runs backwards; write 24MB:100MB:2MB");
  EXPECT_EQ(error_of(bytes, "24:100MB:2MB"), "--x: '24' has no unit; write 24MB, or 24B for bytes");
  EXPECT_EQ(error_of(bytes, "24:100:2"), "--x: '24' has no unit; write 24MB, or 24B for bytes");
  EXPECT_EQ(error_of(AxisKind::flop_per_s, "13"), "--x: '13' has no unit; write 13.45T");
  EXPECT_EQ(error_of(bytes, "24MB:100MB"),
            "--x: a range is FROM:TO:STEP or FROM:TO:xFACTOR, got '24MB:100MB'");
  EXPECT_EQ(error_of(bytes, "24MB::2MB"),
            "--x: a range is FROM:TO:STEP or FROM:TO:xFACTOR, got '24MB::2MB'");
  EXPECT_EQ(error_of(bytes, "1MB:2MB:0MB"), "--x must be positive, got '0MB'");
  EXPECT_EQ(error_of(bytes, "0MB"), "--x must be positive, got '0MB'");
  EXPECT_EQ(error_of(bytes, ""), "--x: a value is missing");
  EXPECT_EQ(error_of(bytes, "1MB,,2MB"), "--x: a value is missing");
  EXPECT_EQ(error_of(bytes, "1MB,1024KB"), "--x: the value 1048576 comes twice");
  EXPECT_EQ(error_of(bytes, "1MB:64MB:x1"), "--x: the factor of '1MB:64MB:x1' must be above 1");
  EXPECT_NE(error_of(bytes, "5GHz"), "");
  EXPECT_NE(error_of(bytes, "1B:1EB:1B"), "");
  EXPECT_NE(error_of(bytes, "1MB:1GB:x1.00000000001"), "");
  EXPECT_NE(error_of(AxisKind::count, "1.5"), "");
  EXPECT_NE(error_of(AxisKind::bytes_per_s, "-3GB/s"), "");
}

TEST(Axis, canonical_form_does_not_depend_on_spelling) {
  EXPECT_EQ(capacities("1MB,2MB").canonical(), capacities(" 1024KB , 2MiB").canonical());
  EXPECT_NE(capacities("1MB,2MB").canonical(), capacities("1MB,3MB").canonical());
  EXPECT_NE(capacities("1MB:3MB:1MB").canonical(), capacities("1MB:4MB:1MB").canonical());
}

TEST(Grid, numbers_points_as_nested_loops_do) {
  const Grid grid({Axis("a", {"x", "y"}, "a"), Axis("b", AxisKind::count, "1:3:1", "b"),
                   Axis("c", AxisKind::count, "5,7", "c")});
  ASSERT_EQ(grid.size(), 12);
  std::int64_t point = 0;
  for (std::int64_t a = 0; a < 2; ++a) {
    for (std::int64_t b = 0; b < 3; ++b) {
      for (std::int64_t c = 0; c < 2; ++c, ++point) {
        EXPECT_EQ(grid.index_of(point, 0), a);
        EXPECT_EQ(grid.index_of(point, 1), b);
        EXPECT_EQ(grid.index_of(point, 2), c);
      }
    }
  }
  EXPECT_EQ(grid.points_behind(0), 12);
  EXPECT_EQ(grid.points_behind(1), 6);
  EXPECT_EQ(grid.points_behind(2), 2);
  EXPECT_EQ(grid.points_behind(3), 1);
}

TEST(Grid, refuses_more_points_than_anybody_waits_for) {
  const Axis million("a", AxisKind::count, "1:1000000:1", "a");
  const Axis other("b", AxisKind::count, "1:1000000:1", "b");
  try {
    const Grid grid({million, other});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "1,000,000 a × 1,000,000 b make more than 10,000,000,000 points");
  }
}

}  // namespace
}  // namespace strata
