// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/sweep/made_up_sweep_test.hpp"
#include "strata/sweep/sink.hpp"
#include "strata/sweep/table.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace strata {
namespace {

class ResultDatabase : public testing::Test {
 protected:
  std::unique_ptr<SweepSink> open(IfPresent if_present, const std::string& hash = "0123") {
    return database_sink(path_, if_present, columns_, {hash, "9.9", grid_.size()});
  }
  void write(SweepSink& sink, std::int64_t first, std::int64_t end) {
    std::vector<PointResult> results;
    for (std::int64_t point = first; point < end; ++point)
      results.push_back(test::made_up_result(point));
    sink.write(first, results);
  }

  const Grid grid_ = test::made_up_grid();
  const SweepColumns columns_{grid_};
  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "points.db";
};

TEST_F(ResultDatabase, goes_on_behind_its_last_point) {
  write(*open(IfPresent::refuse), 0, 9);
  {
    const std::unique_ptr<SweepSink> sink = open(IfPresent::resume);
    ASSERT_EQ(sink->done(), 9);
    write(*sink, 5, 24);  // what is there already is left out
  }
  const SweepTable table = read_sweep_table(path_);
  ASSERT_EQ(table.row_count, 24U);
  EXPECT_EQ(table.identity, "0123");
  EXPECT_TRUE(table.column("capacity").is_axis);
  for (std::size_t row = 0; row < 24; ++row) {
    const PointResult expected = test::made_up_result(static_cast<std::int64_t>(row));
    EXPECT_EQ(table.column("error").texts[row], expected.error);
    if (expected.error.empty()) {
      EXPECT_EQ(table.column("time_s").numbers[row], expected.totals.time_s);
      EXPECT_EQ(std::isnan(table.column("expected_s").numbers[row]), row % 3 != 0);
      EXPECT_EQ(std::isnan(table.column("fits").numbers[row]), row % 3 != 0);
    }
    if (expected.expected.is_there()) {
      EXPECT_EQ(table.column("expected_high_s").numbers[row], 0.7);
      EXPECT_EQ(table.column("memory_bytes").numbers[row], 1000 + static_cast<double>(row));
      EXPECT_EQ(table.column("fits").numbers[row], row <= 10 ? 1 : 0);
    }
  }
}

/// A database of a stranger, copied so that reading it leaves nothing beside it.
std::filesystem::path strange(const test::TemporaryFolder& folder, const std::string& name) {
  const auto copy = folder.path() / name;
  std::filesystem::copy_file(
      std::filesystem::path(STRATA_SOURCE_DIR) / "tests/sweep/databases" / name, copy);
  return copy;
}

TEST_F(ResultDatabase, with_a_rate_without_end_is_refused_with_row_and_column) {
  try {
    read_sweep_table(strange(folder_, "infinite_rate_knee_nan.db"));
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what())
                  .find("row 1, column 'samples_per_s': expected a finite number, got 'inf'"),
              std::string::npos)
        << error.what();
  }
}

// Its columns have no declared types; what they hold is known by their names.
TEST_F(ResultDatabase, without_types_has_those_that_the_names_say) {
  const SweepTable table = read_sweep_table(strange(folder_, "fts5_points_segv.db"));
  EXPECT_FALSE(table.column("model").is_number);
  EXPECT_TRUE(table.column("time_s").is_number);
}

TEST_F(ResultDatabase, of_something_else_is_left_alone) {
  write(*open(IfPresent::refuse), 0, 9);
  EXPECT_THROW(open(IfPresent::refuse), Error);
  EXPECT_THROW(open(IfPresent::resume, "4567"), Error);
  EXPECT_EQ(open(IfPresent::resume)->done(), 9);
  EXPECT_EQ(open(IfPresent::replace)->done(), 0);
}

TEST_F(ResultDatabase, that_is_no_database_is_refused) {
  folder_.file("points.db",
               "my diary, which is longer than a hundred bytes, so that SQLite has to "
               "look at what it says before it says no to it");
  EXPECT_THROW(open(IfPresent::resume), Error);
}

}  // namespace
}  // namespace strata
