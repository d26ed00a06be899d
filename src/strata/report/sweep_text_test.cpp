// SPDX-License-Identifier: Apache-2.0
#include "strata/report/sweep_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

SweepColumn number_cells(std::string name, std::vector<double> numbers, bool is_axis = false) {
  return {.name = std::move(name), .is_axis = is_axis, .numbers = std::move(numbers), .texts = {}};
}

SweepColumn text_cells(std::string name, std::vector<std::string> texts) {
  SweepColumn column{.name = std::move(name), .is_axis = true, .numbers = {}, .texts = {}};
  column.is_number = false;
  column.texts = std::move(texts);
  return column;
}

/// Batch 8, 16 and 32 on a small and on a large machine.
SweepTable batches_on_two_machines(std::vector<double> fits) {
  SweepTable table;
  table.row_count = 6;
  table.columns = {text_cells("model", std::vector<std::string>(6, "net")),
                   number_cells("batch", {8, 8, 16, 16, 32, 32}, true),
                   text_cells("machine", {"small", "large", "small", "large", "small", "large"}),
                   number_cells("expected_s", {1, 1, 2, 2, 3, 3}),
                   number_cells("expected_low_s", {1, 1, 2, 2, 3, 3}),
                   number_cells("expected_high_s", {1, 1, 2, 2, 3, 3}),
                   number_cells("samples_per_s", {8, 8, 9, 9, 11, 11}),
                   number_cells("memory_bytes", {1, 1, 2, 2, 3, 3}),
                   number_cells("time_s", {1, 1, 1, 1, 1, 1}),
                   number_cells("fits", std::move(fits))};
  return table;
}

TEST(SweepText, names_the_largest_batch_that_fits_each_machine) {
  const std::string text = to_text(batches_on_two_machines({1, 1, 1, 1, 0, 1}), {});
  EXPECT_NE(text.find("largest batch that fits: 16 (small), 32 (large, the largest asked for)\n"),
            std::string::npos)
      << text;
  const std::string none = to_text(batches_on_two_machines({0, 1, 0, 1, 0, 0}), {});
  EXPECT_NE(none.find("largest batch that fits: none (small), 16 (large)\n"), std::string::npos)
      << none;
}

TEST(SweepText, says_how_all_points_are_trained) {
  SweepTable table = batches_on_two_machines({1, 1, 1, 1, 0, 1});
  EXPECT_EQ(to_text(table, {}).find("all points"), std::string::npos);
  SweepColumn parts = table.columns[1];
  parts.name = "micro_batches";
  parts.numbers.assign(6, 4);
  table.columns.push_back(parts);
  EXPECT_NE(to_text(table, {}).find("all points: micro-batches 4\n"), std::string::npos)
      << to_text(table, {});
}

TEST(SweepText, says_nothing_of_batches_where_they_do_not_vary_or_memory_is_not_known) {
  SweepTable table = batches_on_two_machines({1, 1, 1, 1, 0, 1});
  table.columns[1].numbers.assign(6, 8);
  EXPECT_EQ(to_text(table, {}).find("largest batch"), std::string::npos);
  const SweepTable unknown = batches_on_two_machines(std::vector<double>(6, no_number));
  EXPECT_EQ(to_text(unknown, {}).find("largest batch"), std::string::npos);
}

TEST(SweepText, has_the_best_point_of_every_machine) {
  SweepTable table = batches_on_two_machines({1, 1, 1, 1, 0, 1});
  table.columns[6].numbers = {4, 8, 5, 9, 6, 11};
  const std::string text = to_text(table, {});
  std::vector<std::string> rows;
  for (std::size_t at = text.find("  net "); at != std::string::npos;
       at = text.find("  net ", at + 1))
    rows.push_back(text.substr(at, text.find('\n', at) - at));
  ASSERT_EQ(rows.size(), 3U) << text;
  EXPECT_NE(rows[0].find("fastest     32    large"), std::string::npos) << text;
  // The largest batch of the small machine is out of memory.
  EXPECT_NE(rows[1].find("best        16    small"), std::string::npos) << text;
  EXPECT_NE(rows[2].find("slowest      8    small"), std::string::npos) << text;
}

}  // namespace
}  // namespace strata
