// SPDX-License-Identifier: Apache-2.0
#include "strata/report/sweep_chart.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

/// Two networks over three capacities; the point at 64 MB of the second failed.
SweepTable charted_table() {
  SweepTable table{.columns = {{.name = "model", .is_number = false, .is_axis = true},
                               {.name = "capacity_bytes", .is_axis = true},
                               {.name = "batch", .is_axis = true},
                               {.name = "time_s"},
                               {.name = "area_mm2"},
                               {.name = "error", .is_number = false}}};
  for (const char* model : {"a", "b"}) {
    for (const double mb : {128.0, 32.0, 64.0}) {  // not in order
      const bool fails = model[0] == 'b' && mb == 64;
      table.columns[0].texts.push_back(model);
      table.columns[1].numbers.push_back(mb * 1048576);
      table.columns[2].numbers.push_back(32);
      table.columns[3].numbers.push_back(fails ? no_number : 1 / mb);
      table.columns[4].numbers.push_back(fails ? no_number : mb);
      table.columns[5].texts.push_back(fails ? "too small" : "");
      ++table.row_count;
    }
  }
  return table;
}

TEST(SweepChart, has_a_line_for_each_network_in_the_order_of_the_axis) {
  const chart::Chart chart = sweep_chart(charted_table());
  EXPECT_EQ(chart.title, "time over capacity");
  EXPECT_EQ(chart.x.quantity, chart::Quantity::capacity);
  EXPECT_EQ(chart.y.quantity, chart::Quantity::seconds);
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].name, "a");
  ASSERT_EQ(chart.series[0].points.size(), 3U);
  EXPECT_EQ(chart.series[0].points[0].x, 32.0 * 1048576);
  EXPECT_EQ(chart.series[0].points[2].y, 1 / 128.0);
  ASSERT_EQ(chart.series[1].points.size(), 2U);  // one failed
  EXPECT_EQ(chart.series[1].points[1].x, 128.0 * 1048576);
  EXPECT_NE(to_svg(chart).find("<svg"), std::string::npos);
}

TEST(SweepChart, shows_any_column_of_numbers_over_the_first_axis_of_numbers) {
  SweepTable table = charted_table();
  EXPECT_EQ(sweep_chart(table, "area").y.title, "area (mm²)");
  std::fill(table.columns[1].numbers.begin(), table.columns[1].numbers.end(), 1048576.0);
  table.columns[2].numbers = {8, 64, 512, 8, 64, 512};
  const chart::Chart chart = sweep_chart(table);
  EXPECT_EQ(chart.x.title, "batch");
  EXPECT_EQ(chart.x.scale, chart::ScaleKind::logarithmic);
}

TEST(SweepChart, says_what_cannot_be_drawn) {
  const auto message = [](const SweepTable& table, std::string_view column) {
    try {
      sweep_chart(table, column);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  SweepTable table = charted_table();
  EXPECT_NE(message(table, "tme_s").find("did you mean time_s?"), std::string::npos);
  EXPECT_NE(message(table, "error").find("holds text"), std::string::npos);
  for (std::size_t row = 0; row < table.row_count; ++row) table.columns[1].numbers[row] = 1;
  EXPECT_NE(message(table, "time").find("needs an axis"), std::string::npos);
  table = {.columns = {{.name = "machine", .is_number = false, .is_axis = true},
                       {.name = "capacity_bytes", .is_axis = true},
                       {.name = "time_s"}}};
  for (std::size_t i = 0; i < 2 * (most_sweep_lines + 1); ++i) {
    table.columns[0].texts.push_back(std::to_string(i / 2));
    table.columns[1].numbers.push_back(static_cast<double>(i % 2));
    table.columns[2].numbers.push_back(1);
    ++table.row_count;
  }
  EXPECT_NE(message(table, "time").find("17 lines are too many"), std::string::npos);
}

}  // namespace
}  // namespace strata
