// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/ticks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace strata::chart {
namespace {

/// Whether a number is 1, 2 or 5 times a power of ten.
bool is_nice(double number) {
  const double mantissa = number / std::pow(10.0, std::floor(std::log10(number) + 1e-9));
  for (const double nice : {1.0, 2.0, 5.0}) {
    if (std::fabs(mantissa - nice) < 1e-6) return true;
  }
  return false;
}

/// What a unit on an axis stands for, spelt out.
double size_of(const std::string& unit) {
  static const std::map<std::string, double> sizes = {
      {"", 1},       {"%", 0.01},      {"ns", 1e-9},     {"µs", 1e-6},     {"ms", 1e-3},
      {"s", 1},      {"B", 1},         {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
      {"TB", 1e12},  {"KiB", 0x1p10},  {"MiB", 0x1p20},  {"GiB", 0x1p30},  {"TiB", 0x1p40},
      {"B/s", 1},    {"kB/s", 1e3},    {"MB/s", 1e6},    {"GB/s", 1e9},    {"TB/s", 1e12},
      {"FLOP", 1},   {"kFLOP", 1e3},   {"MFLOP", 1e6},   {"GFLOP", 1e9},   {"TFLOP", 1e12},
      {"FLOP/s", 1}, {"kFLOP/s", 1e3}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12},
      {"K", 1e3},    {"M", 1e6},       {"G", 1e9},       {"T", 1e12}};
  return sizes.at(unit);
}

bool is_power(double number, double base) {
  const double exponent = std::log(number) / std::log(base);
  return std::fabs(exponent - std::round(exponent)) < 1e-9;
}

TEST(Ticks, a_nice_step_is_the_least_that_is_large_enough) {
  EXPECT_DOUBLE_EQ(nice_step(1), 1);
  EXPECT_DOUBLE_EQ(nice_step(1.01), 2);
  EXPECT_DOUBLE_EQ(nice_step(0.03), 0.05);
  EXPECT_DOUBLE_EQ(nice_step(600), 1000);
}

TEST(Ticks, of_a_linear_axis_are_multiples_of_a_nice_step_inside_the_range) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-6, 13);
  for (int round = 0; round < 2000; ++round) {
    const auto quantity = static_cast<Quantity>(random() % 8);
    const double least = std::pow(10.0, exponent(random)) * (random() % 2 == 0 ? 1 : -1);
    const Range range{least, least + std::pow(10.0, exponent(random))};
    if ((range.most - range.least) < 1e-6 * std::fabs(least)) continue;  // a double has no room
    const std::size_t most_ticks = 1 + random() % 12;
    const Ticks ticks = linear_ticks(range, most_ticks, quantity);
    ASSERT_LE(ticks.values.size(), most_ticks + 1);
    ASSERT_EQ(ticks.labels.size(), ticks.values.size());
    const double slack = 1e-6 * (range.most - range.least);
    for (std::size_t i = 0; i < ticks.values.size(); ++i) {
      ASSERT_GE(ticks.values[i], range.least - slack);
      ASSERT_LE(ticks.values[i], range.most + slack);
      if (i == 0) continue;
      const double step = ticks.values[i] - ticks.values[i - 1];
      const double slack_of_doubles = 1e5 * step;  // beyond it differences lose their last digits
      ASSERT_TRUE(is_nice(step / size_of(ticks.unit)) || std::fabs(least) > slack_of_doubles)
          << step << " " << ticks.unit;
    }
    const std::set<std::string> labels(ticks.labels.begin(), ticks.labels.end());
    ASSERT_EQ(labels.size(), ticks.labels.size()) << "two ticks read the same";
  }
}

TEST(Ticks, of_a_logarithmic_axis_are_powers_or_twice_or_five_times_them) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-5, 14);
  for (int round = 0; round < 2000; ++round) {
    const auto quantity = static_cast<Quantity>(random() % 7);
    const double least = std::pow(10.0, exponent(random));
    const Range range{least, least * std::pow(10.0, 1 + exponent(random) / 3 + 2)};
    const Ticks ticks = log_ticks(range, 2 + random() % 10, quantity);
    const std::set<std::string> labels(ticks.labels.begin(), ticks.labels.end());
    ASSERT_EQ(labels.size(), ticks.values.size()) << "two ticks read the same";
    ASSERT_TRUE(std::is_sorted(ticks.values.begin(), ticks.values.end()));
    for (const double value : ticks.values) {
      ASSERT_GE(value, range.least * (1 - 1e-6));
      ASSERT_LE(value, range.most * (1 + 1e-6));
      ASSERT_TRUE(quantity == Quantity::capacity ? is_power(value, 2) : is_nice(value)) << value;
    }
  }
}

TEST(Ticks, have_the_units_that_people_expect) {
  const Ticks capacity = linear_ticks({0, 1000.0 * (1 << 20)}, 6, Quantity::capacity);
  EXPECT_EQ(capacity.labels, (std::vector<std::string>{"0", "200", "400", "600", "800", "1000"}));
  EXPECT_EQ(capacity.unit, "MiB");
  EXPECT_DOUBLE_EQ(capacity.values[1], 200.0 * (1 << 20));
  const Ticks traffic = linear_ticks({0, 10e9}, 6, Quantity::bytes);
  EXPECT_EQ(traffic.labels, (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(traffic.unit, "GB");
  EXPECT_EQ(log_ticks({1e6, 1e9}, 4, Quantity::bytes).labels,
            (std::vector<std::string>{"1 MB", "10 MB", "100 MB", "1 GB"}));
  const Ticks rate = linear_ticks({0, 1555e9}, 4, Quantity::bytes_per_s);
  EXPECT_EQ(rate.labels, (std::vector<std::string>{"0", "500", "1000", "1500"}));
  EXPECT_EQ(rate.unit, "GB/s");
  EXPECT_EQ(log_ticks({1 << 24, 1 << 30}, 4, Quantity::capacity).labels,
            (std::vector<std::string>{"16 MiB", "64 MiB", "256 MiB", "1 GiB"}));
  EXPECT_EQ(log_ticks({1e-5, 1e-2}, 4, Quantity::seconds).labels,
            (std::vector<std::string>{"10 µs", "100 µs", "1 ms", "10 ms"}));
  EXPECT_EQ(log_ticks({1e-13, 1e-8}, 8, Quantity::seconds).labels,
            (std::vector<std::string>{"100 fs", "1 ps", "10 ps", "100 ps", "1 ns", "10 ns"}));
  EXPECT_EQ(log_ticks({0.01, 1e5}, 8, Quantity::number).labels,
            (std::vector<std::string>{"0.01", "0.1", "1", "10", "100", "1000", "10 K", "100 K"}));
}

TEST(Ticks, an_axis_that_is_rounded_out_holds_its_data_and_ends_at_ticks) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-3, 9);
  for (int round = 0; round < 1000; ++round) {
    const double least = std::pow(10.0, exponent(random));
    const Range data{least, least * (1.2 + static_cast<double>(random() % 1000))};
    const bool is_linear = random() % 2 == 0;
    const Axis axis{.quantity = Quantity::flop_per_s,
                    .scale = is_linear ? ScaleKind::linear : ScaleKind::logarithmic};
    const Range range = rounded_out(data, axis, 6);
    ASSERT_LE(range.least, data.least * (1 + 1e-6));
    ASSERT_GE(range.most, data.most * (1 - 1e-6));
    if (!is_linear) continue;
    const Ticks ticks = linear_ticks(range, 6, axis.quantity);
    ASSERT_NEAR(ticks.values.front(), range.least, 1e-6 * range.most);
    ASSERT_NEAR(ticks.values.back(), range.most, 1e-6 * range.most);
  }
}

}  // namespace
}  // namespace strata::chart
