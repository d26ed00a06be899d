// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/axis.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
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
  const Axis axis = capacities("24MiB:1000MiB:2MiB");
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
  const Axis axis = capacities("1KiB, 4KiB:8KiB:2KiB ,1MiB");
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
  EXPECT_EQ(error_of(bytes, "100MiB:24MiB:2MiB"),
            "--x: the range '100MiB:24MiB:2MiB' runs backwards; write 24MiB:100MiB:2MiB");
  EXPECT_EQ(error_of(bytes, "24:100MB:2MB"),
            "--x: each value of '24:100MB:2MB' needs a unit: write 24MB:100MB:2MB");
  EXPECT_EQ(error_of(bytes, "24:1000:2 MiB"),
            "--x: each value of '24:1000:2 MiB' needs a unit: write 24MiB:1000MiB:2 MiB");
  EXPECT_EQ(error_of(AxisKind::bytes_per_s, "100:900GB/s:x2"),
            "--x: each value of '100:900GB/s:x2' needs a unit: write 100GB/s:900GB/s:x2");
  EXPECT_EQ(error_of(bytes, "24:100:2"),
            "--x: '24' has no unit: write 24MB (10^6 bytes) or 24MiB (2^20 bytes)");
  EXPECT_EQ(error_of(bytes, "24M:100M:2M"),
            "--x: '24M' has no unit: write 24MB (10^6 bytes) or 24MiB (2^20 bytes)");
  EXPECT_EQ(error_of(AxisKind::flop_per_s, "13"), "--x: '13' has no unit: write 13TFLOP/s");
  EXPECT_EQ(error_of(AxisKind::seconds, "4"), "--x: '4' has no unit: write 4us or 4s");
  EXPECT_EQ(error_of(bytes, "24MiB:100MiB"),
            "--x: a range is FROM:TO:STEP or FROM:TO:xFACTOR, got '24MiB:100MiB'");
  EXPECT_EQ(error_of(bytes, "24MiB::2MiB"),
            "--x: a range is FROM:TO:STEP or FROM:TO:xFACTOR, got '24MiB::2MiB'");
  EXPECT_EQ(error_of(bytes, "1MiB:2MiB:0MiB"), "--x must be positive, got '0MiB'");
  EXPECT_EQ(error_of(bytes, "0MiB"), "--x must be positive, got '0MiB'");
  EXPECT_EQ(error_of(bytes, ""), "--x: a value is missing");
  EXPECT_EQ(error_of(bytes, "1MiB,,2MiB"), "--x: a value is missing");
  EXPECT_EQ(error_of(bytes, "1MiB,1024KiB"), "--x: the value 1048576 comes twice");
  EXPECT_EQ(error_of(bytes, "1MiB:64MiB:x1"), "--x: the factor of '1MiB:64MiB:x1' must be above 1");
  EXPECT_NE(error_of(bytes, "5GHz"), "");
  EXPECT_NE(error_of(bytes, "1B:1EiB:1B"), "");
  EXPECT_NE(error_of(bytes, "1MiB:1GiB:x1.00000000001"), "");
  EXPECT_NE(error_of(AxisKind::count, "1.5"), "");
  EXPECT_NE(error_of(AxisKind::bytes_per_s, "-3GB/s"), "");
}

TEST(Axis, sizes_count_in_the_unit_that_is_written) {
  EXPECT_EQ(texts(capacities("1MB,1MiB")), (std::vector<std::string>{"1000000", "1048576"}));
}

TEST(Axis, a_setting_is_read_back_as_the_value) {
  const Axis sizes = capacities("24MiB");
  EXPECT_EQ(sizes.setting(sizes.at(0)), "25165824B");
  const Axis rates("bandwidth", AxisKind::bytes_per_s, "616GB/s", "--bandwidth");
  EXPECT_EQ(parse_bytes_per_s(rates.setting(rates.at(0)), "rate"), 616e9);
  const Axis names("dtype", {"bf16"}, "--dtype");
  EXPECT_EQ(names.setting(names.at(0)), "bf16");
}

TEST(Axis, canonical_form_does_not_depend_on_spelling) {
  EXPECT_EQ(capacities("1MiB,2MiB").canonical(), capacities(" 1024KiB , 2MiB").canonical());
  EXPECT_NE(capacities("1MiB,2MiB").canonical(), capacities("1MiB,3MiB").canonical());
  EXPECT_NE(capacities("1MiB:3MiB:1MiB").canonical(), capacities("1MiB:4MiB:1MiB").canonical());
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
