// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/sqlite_database.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/sweep/made_up_sweep_test.hpp"
#include "strata/sweep/sink.hpp"
#include "strata/sweep/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

namespace strata {
namespace {

using testing::HasSubstr;

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
  Database::open_to_write(path_).run(
      "CREATE TABLE sweep (key, value); CREATE TABLE points (point, model, time_s); "
      "INSERT INTO points VALUES (0, 'a', 1.5)");
  const SweepTable table = read_sweep_table(path_);
  EXPECT_FALSE(table.column("model").is_number);
  EXPECT_TRUE(table.column("time_s").is_number);
}

/// Of what reading or writing it refuses, and that it does so at once.
template <class Use>
std::string refusal_of(ErrorKind kind, const Use& use) {
  const auto begin = std::chrono::steady_clock::now();
  std::string message = "accepted";
  try {
    use();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    message = error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << message;
  return message;
}

TEST_F(ResultDatabase, of_a_stranger_is_not_read) {
  const auto refusal = [&](const std::string& name) {
    return refusal_of(ErrorKind::input, [&] { read_sweep_table(strange(folder_, name)); });
  };
  EXPECT_THAT(refusal("fts5_points_segv.db"), HasSubstr("holds the virtual table 'points'"));
  EXPECT_THAT(refusal("trigger_loop.db"), HasSubstr("holds the trigger 't'"));
  EXPECT_THAT(refusal("generated_column_bomb.db"), HasSubstr("column 'bomb' is computed"));
  EXPECT_THAT(refusal("malformed_schema_exit3.db"), HasSubstr("malformed database schema"));
  // Its pages are counted many times: 60^7 times a few rows in five kilobytes.
  EXPECT_THAT(refusal("shared_pages.db"), HasSubstr("more rows than a file of 5120 bytes"));
}

TEST_F(ResultDatabase, of_a_stranger_is_not_gone_on_with) {
  const auto refusal = [&](const std::string& name, ErrorKind kind) {
    const auto file = strange(folder_, name);
    return refusal_of(kind, [&] {
      database_sink(file, IfPresent::resume, columns_, {"0123", "9.9", grid_.size()});
    });
  };
  EXPECT_THAT(refusal("trigger_loop.db", ErrorKind::usage), HasSubstr("nothing was changed"));
  EXPECT_THAT(refusal("generated_column_bomb.db", ErrorKind::usage),
              HasSubstr("holds no results of this sweep"));
  const std::string malformed = refusal("malformed_schema_exit3.db", ErrorKind::input);
  EXPECT_THAT(malformed, HasSubstr("malformed database schema"));
  EXPECT_EQ(malformed.find("malformed_schema_exit3.db"),
            malformed.rfind("malformed_schema_exit3.db"));
}

TEST_F(ResultDatabase, that_somebody_changed_is_not_gone_on_with) {
  const std::pair<const char*, const char*> cases[] = {
      {"DELETE FROM points WHERE point = 4", "it has 8 rows"},
      {"UPDATE points SET point = 20 WHERE point = 4", "was changed"},
      {"UPDATE points SET point = -1 WHERE point = 4", "was changed"},
      {"UPDATE sweep SET value = '999999' WHERE key IN ('done', 'rows')", "was changed"},
      {"DELETE FROM sweep WHERE key = 'rows'", "was changed"},
      {"CREATE TRIGGER t BEFORE INSERT ON points BEGIN SELECT 1; END", "holds 't'"},
      {"CREATE TRIGGER points BEFORE INSERT ON points BEGIN SELECT 1; END", "no results of this"},
      {"CREATE VIEW v AS SELECT 1", "holds 'v'"},
      {"ALTER TABLE points ADD COLUMN x AS (hex(zeroblob(1000)))", "no results of this sweep"}};
  for (const auto& [change, expected] : cases) {
    std::filesystem::remove(path_);
    write(*open(IfPresent::refuse), 0, 9);
    Database::open_to_write(path_).run(change);
    std::string message = "accepted";
    try {
      open(IfPresent::resume);
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_THAT(message, HasSubstr(expected)) << change;
  }
}

TEST_F(ResultDatabase, is_written_by_one_process_at_a_time) {
  const std::unique_ptr<SweepSink> first = open(IfPresent::refuse);
  write(*first, 0, 9);
  first->flush();
  for (const IfPresent present : {IfPresent::refuse, IfPresent::resume, IfPresent::replace}) {
    EXPECT_THAT(refusal_of(ErrorKind::environment, [&] { open(present); }),
                HasSubstr("is being written by another process"));
  }
  EXPECT_THAT(refusal_of(ErrorKind::environment, [&] { read_sweep_table(path_); }),
              HasSubstr("is being written by another process"));
  write(*first, 9, 24);
  first->flush();
  EXPECT_EQ(first->done(), 0);
}

TEST_F(ResultDatabase, is_begun_by_exactly_one_of_many) {
  constexpr int starts = 8;
  std::atomic<int> opened = 0;
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<SweepSink>> sinks(starts);
  for (int i = 0; i < starts; ++i) {
    threads.emplace_back([&, i] {
      for (++ready; ready < starts;) std::this_thread::yield();
      try {
        sinks[static_cast<std::size_t>(i)] = open(IfPresent::replace);
        ++opened;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::environment);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 1);
}

TEST_F(ResultDatabase, that_is_finished_is_one_file_and_read_where_nothing_can_be_written) {
  write(*open(IfPresent::refuse), 0, 24);
  const auto files = std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  EXPECT_EQ(files, 1);
  std::ifstream file(path_, std::ios::binary);
  std::string head(20, '\0');
  file.read(head.data(), 20);
  EXPECT_EQ(head[18], 1) << "a write-ahead log is expected";
  EXPECT_EQ(read_sweep_table(path_).row_count, 24U);
}

// As databases of earlier versions are; SQLite would have to make files to read it.
TEST_F(ResultDatabase, with_a_write_ahead_log_that_is_empty_is_read_without_leaving_a_trace) {
  const auto path = strange(folder_, "write_ahead.db");
  EXPECT_EQ(read_sweep_table(path).row_count, 2U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(ResultDatabase, that_vanishes_while_it_is_written_is_an_error) {
  const std::unique_ptr<SweepSink> sink = open(IfPresent::refuse);
  write(*sink, 0, 9);
  sink->flush();
  std::filesystem::remove(path_);
  write(*sink, 9, 10);
  EXPECT_THAT(refusal_of(ErrorKind::environment, [&] { sink->flush(); }),
              HasSubstr("was removed or replaced"));
}

TEST_F(ResultDatabase, is_replaced_but_not_what_others_put_beside_it) {
  write(*open(IfPresent::refuse), 0, 9);
  const auto foreign = folder_.file("points.db-wal", "my diary");
  EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { open(IfPresent::replace); }),
              HasSubstr("is no file of SQLite"));
  EXPECT_EQ(std::filesystem::file_size(foreign), 8U);
  std::filesystem::remove(foreign);
  EXPECT_EQ(open(IfPresent::replace)->done(), 0);
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
