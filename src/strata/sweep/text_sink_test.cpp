// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/sweep/made_up_sweep_test.hpp"
#include "strata/sweep/sink.hpp"
#include "strata/sweep/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace strata {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every form of file, on a sweep of 24 made-up points.
class ResultFiles : public testing::TestWithParam<TextForm> {
 protected:
  std::unique_ptr<SweepSink> open(IfPresent if_present, const std::string& hash = "0123") {
    return text_file_sink(GetParam(), path_, if_present, columns_, {hash, "9.9", grid_.size()});
  }
  SweepOutcome run_all(IfPresent if_present, std::int64_t threads = 1) {
    const std::unique_ptr<SweepSink> sink = open(if_present);
    return run_points({.range = {sink->done(), grid_.size(), 12, 1},
                       .make_worker = [] { return std::make_unique<test::MadeUpWorker>(); },
                       .sinks = {sink.get()},
                       .threads = threads});
  }
  std::string error_of(IfPresent if_present, const std::string& hash = "0123") {
    try {
      open(if_present, hash);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "";
  }

  const Grid grid_ = test::made_up_grid();
  const SweepColumns columns_{grid_};
  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "points";
};

TEST_P(ResultFiles, that_vanish_while_they_are_written_are_an_error) {
  const auto kind_after = [&](const auto& change, const char* what = "was removed or replaced") {
    const std::unique_ptr<SweepSink> sink = open(IfPresent::replace);
    const PointResult result = test::made_up_result(0);
    sink->write(0, {&result, 1});
    sink->flush();
    change();
    try {
      sink->flush();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_after([&] { std::filesystem::remove(path_); }), ErrorKind::environment);
  EXPECT_EQ(kind_after([&] { std::filesystem::rename(path_, folder_.path() / "moved"); }),
            ErrorKind::environment);
  EXPECT_EQ(kind_after([&] { std::filesystem::resize_file(path_, 0); }, "was emptied or cut"),
            ErrorKind::environment);
}

TEST_P(ResultFiles, are_the_same_whatever_the_number_of_threads) {
  run_all(IfPresent::refuse);
  const std::string one = content(path_);
  const SweepOutcome outcome = run_all(IfPresent::replace, 5);
  EXPECT_EQ(content(path_), one);
  EXPECT_EQ(outcome.done, 24);
  EXPECT_EQ(outcome.failed, 3);  // points 3, 10 and 17
  EXPECT_EQ(outcome.first_error, test::made_up_result(3).error);
}

TEST_P(ResultFiles, cut_off_at_any_byte_go_on_to_the_same_bytes) {
  run_all(IfPresent::refuse);
  const std::string whole = content(path_);
  for (std::size_t size = 0; size <= whole.size(); size += size < 700 ? 1 : 11) {
    std::filesystem::resize_file(path_, size);
    run_all(IfPresent::resume);
    ASSERT_EQ(content(path_), whole) << "cut at byte " << size;
  }
}

TEST_P(ResultFiles, of_another_sweep_are_left_alone) {
  run_all(IfPresent::refuse);
  const std::string before = content(path_);
  EXPECT_NE(error_of(IfPresent::resume, "4567").find("holds no results of this sweep"),
            std::string::npos);
  EXPECT_NE(error_of(IfPresent::refuse).find("is there already"), std::string::npos);
  EXPECT_EQ(content(path_), before);
  std::ofstream(path_) << "my diary\n";
  EXPECT_NE(error_of(IfPresent::resume), "");
  EXPECT_NE(error_of(IfPresent::refuse), "");
  EXPECT_EQ(content(path_), "my diary\n");
}

TEST_P(ResultFiles, of_a_version_with_other_columns_are_left_alone) {
  run_all(IfPresent::refuse);
  std::string text = content(path_);
  if (GetParam() != TextForm::csv) return;  // it has no heading; the identity tells
  const std::size_t at = text.find(",expected_s");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, std::string_view(",expected_s").size());
  std::ofstream(path_, std::ios::binary) << text;
  EXPECT_NE(error_of(IfPresent::resume).find("holds no results of this sweep"), std::string::npos);
  EXPECT_EQ(content(path_), text);
}

TEST_P(ResultFiles, with_a_line_missing_are_not_continued) {
  run_all(IfPresent::refuse);
  std::string text = content(path_);
  const std::size_t line = text.rfind('\n', text.size() - 2);
  const std::size_t before = text.rfind('\n', line - 1);
  text.erase(before, line - before);
  std::ofstream(path_, std::ios::binary) << text;
  EXPECT_THROW(open(IfPresent::resume), Error);
  EXPECT_EQ(content(path_), text);
}

TEST_P(ResultFiles, are_written_by_one_process_at_a_time) {
  const std::unique_ptr<SweepSink> first = open(IfPresent::refuse);
  try {
    open(IfPresent::resume);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
  }
}

TEST_P(ResultFiles, are_read_back_as_the_table_they_are_of) {
  run_all(IfPresent::refuse);
  std::ofstream(path_, std::ios::app) << "24,a";  // cut off
  const SweepTable table = read_sweep_table(path_);
  ASSERT_EQ(table.row_count, 24U);
  EXPECT_EQ(table.identity, "0123");
  EXPECT_TRUE(table.column("model").is_axis);
  EXPECT_TRUE(table.column("capacity").is_axis);
  EXPECT_FALSE(table.column("time").is_axis);
  for (std::size_t row = 0; row < table.row_count; ++row) {
    const PointResult expected = test::made_up_result(static_cast<std::int64_t>(row));
    EXPECT_EQ(table.column("model").texts[row], row < 12 ? "a" : "b,c");
    EXPECT_EQ(table.column("capacity").numbers[row], static_cast<double>(row % 12 + 1));
    EXPECT_EQ(table.is_failed(row), !expected.error.empty());
    if (!expected.error.empty()) {
      EXPECT_TRUE(std::isnan(table.column("time_s").numbers[row]));
      continue;
    }
    EXPECT_EQ(table.column("time_s").numbers[row], expected.totals.time_s);
    EXPECT_EQ(table.column("stall_time").numbers[row], expected.totals.stall_s);
    const PointExpected& iteration = expected.expected;
    EXPECT_EQ(table.column("samples_per_s").numbers[row],
              32 / (iteration.is_there() ? iteration.time_s : expected.totals.time_s));
    if (!iteration.is_there()) {
      for (const char* name :
           {"expected_s", "expected_low_s", "expected_high_s", "memory_bytes", "fits"})
        EXPECT_TRUE(std::isnan(table.column(name).numbers[row])) << name;
      continue;
    }
    EXPECT_EQ(table.column("expected").numbers[row], iteration.time_s);
    EXPECT_EQ(table.column("expected_low").numbers[row], 0.2);
    EXPECT_EQ(table.column("expected_high").numbers[row], 0.7);
    EXPECT_EQ(table.column("memory").numbers[row], static_cast<double>(iteration.memory_bytes));
    EXPECT_EQ(table.column("fits").numbers[row], row <= 10 ? 1 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ResultFiles, testing::Values(TextForm::csv, TextForm::json_lines),
                         [](const auto& form) {
                           return form.param == TextForm::csv ? "csv" : "json_lines";
                         });

/// Files that earlier versions began: the identity was a first line that began with '#', or the
/// name of a last column.
class EarlierCsv : public testing::TestWithParam<bool> {
 protected:
  void run_all(IfPresent if_present) {
    const auto sink = text_file_sink(TextForm::csv, path_, if_present, columns_, identity_);
    run_points({.range = {sink->done(), grid_.size(), 12, 1},
                .make_worker = [] { return std::make_unique<test::MadeUpWorker>(); },
                .sinks = {sink.get()},
                .threads = 1});
  }
  /// The same points as such a version wrote them.
  std::string earlier() const {
    const bool is_first_line = GetParam();
    const std::string words = "strata_sweep 1 identity 0123 version 9.9 points 24 axes 2";
    std::istringstream lines(content(path_));
    std::string line, text;
    while (std::getline(lines, line)) {
      const bool is_head = text.empty();
      if (is_head && is_first_line) text = "# " + words + '\n';
      text += line.substr(0, line.rfind(','));
      text += is_first_line ? "\n" : is_head ? ',' + words + '\n' : ",\n";
    }
    return text;
  }

  const Grid grid_ = test::made_up_grid();
  const SweepColumns columns_{grid_};
  const SweepIdentity identity_{"0123", "9.9", grid_.size()};
  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "points.csv";
};

TEST_P(EarlierCsv, is_read_and_resumed_as_it_is) {
  run_all(IfPresent::refuse);
  const std::string whole = earlier();
  const std::size_t heads = GetParam() ? 2 : 1;
  std::size_t head = 0;
  for (std::size_t line = 0; line < heads; ++line) head = whole.find('\n', head) + 1;
  for (std::size_t size = head; size <= whole.size(); size += 97) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    run_all(IfPresent::resume);
    ASSERT_EQ(content(path_), whole) << "cut at byte " << size;
  }
  const SweepTable table = read_sweep_table(path_);
  EXPECT_EQ(table.row_count, 24U);
  EXPECT_EQ(table.identity, "0123");
  EXPECT_TRUE(table.column("model").is_axis);
  EXPECT_EQ(table.find("strata_sweep"), nullptr);
}

TEST_P(EarlierCsv, of_another_sweep_is_left_alone) {
  run_all(IfPresent::refuse);
  std::string other = earlier();
  other.replace(other.find("identity 0123"), 13, "identity 4567");
  std::ofstream(path_, std::ios::binary) << other;
  EXPECT_THROW(run_all(IfPresent::resume), Error);
  EXPECT_EQ(content(path_), other);
}

INSTANTIATE_TEST_SUITE_P(Forms, EarlierCsv, testing::Bool(), [](const auto& form) {
  return form.param ? "first_line" : "last_column";
});

/// As csv.DictReader and pandas read it.
TEST(SweepCsv, has_names_of_columns_in_its_heading_and_a_cell_for_each_in_every_row) {
  const Grid grid = test::made_up_grid();
  const SweepColumns columns(grid);
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "points.csv";
  const SweepIdentity identity{"0123", "9.9", grid.size()};
  run_points(
      {.range = {0, grid.size(), 12, 1},
       .make_worker = [] { return std::make_unique<test::MadeUpWorker>(); },
       .sinks = {text_file_sink(TextForm::csv, path, IfPresent::refuse, columns, identity).get()},
       .threads = 1});
  std::istringstream lines(content(path));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = csv_cells(line);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names)
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << name;
  EXPECT_EQ(names.back(), "strata_sweep");
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    ASSERT_EQ(cells.size(), names.size()) << line;
    EXPECT_EQ(cells.back(), "0123/9.9/2") << line;
  }
}

std::string refusal_of(const test::TemporaryFolder& folder, const std::string& text) {
  try {
    read_sweep_table(folder.file("points", text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    const std::string what = error.what();
    return what.substr(what.find("points: ") + 8);
  }
  return "";
}

TEST(SweepTable, refuses_a_cell_of_another_type_with_its_line_and_column) {
  const test::TemporaryFolder folder;
  const std::string head = "point,model,capacity_bytes,time_s,error\n";
  EXPECT_EQ(refusal_of(folder, head + "0,a,1,1,\n1,a,x,2,\n"),
            "line 3, column 'capacity_bytes': expected a number, got 'x'");
  EXPECT_EQ(refusal_of(folder, head + "0,a,1,-1,\n"),
            "line 2, column 'time_s': expected a number from 0, got '-1'");
  EXPECT_EQ(refusal_of(folder, head + "0,a,inf,1,\n"),
            "line 2, column 'capacity_bytes': expected a number, got 'inf'");
  EXPECT_EQ(refusal_of(folder, "{\"point\":0,\"model\":7}\n"),
            "line 1, column 'model': expected a text, got '7'");
  EXPECT_EQ(refusal_of(folder, "{\"point\":0,\"time_s\":\"7\"}\n"),
            "line 1, column 'time_s': expected a number, got '7'");
  EXPECT_EQ(refusal_of(folder, "{\"point\":0,\"x\":1}\n{\"point\":1,\"x\":\"a\"}\n"),
            "line 2, column 'x': expected a number, got 'a'");
}

TEST(SweepTable, a_network_whose_name_is_a_number_is_a_text) {
  const test::TemporaryFolder folder;
  const SweepTable table =
      read_sweep_table(folder.file("points", "point,model,mine,error\n0,2024,5,\n1,2024,6,\n"));
  EXPECT_EQ(table.column("model").text(1), "2024");
  EXPECT_EQ(table.column("mine").number(1), 6);
  EXPECT_THROW(table.column("model").number(0), Error);
  EXPECT_THROW(table.column("mine").text(0), Error);
}

TEST(SweepTable, texts_come_back_as_they_were) {
  const test::TemporaryFolder folder;
  const SweepTable table =
      read_sweep_table(folder.file("points", "point,model\n0,'=a\\u{202e}\n1,'b\n"));
  EXPECT_EQ(table.column("model").text(0), "=a\u202E");
  EXPECT_EQ(table.column("model").text(1), "'b");
}

TEST(SweepTable, names_the_nearest_column) {
  const SweepTable table{.columns = {{.name = "time_s"}, {.name = "capacity_bytes"}}};
  EXPECT_EQ(table.find("tme"), nullptr);
  try {
    table.column("capcity_bytes");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no column 'capcity_bytes'; did you mean capacity_bytes?; columns are: time_s, "
                 "capacity_bytes");
  }
}

TEST(SweepTable, refuses_what_is_no_result_of_a_sweep) {
  const test::TemporaryFolder folder;
  for (const char* text : {"", "a,b\n1,2\n", "point,time_s\n1\n", "point,x\n1,\"open\n",
                           "{\"point\":[]}\n", "{broken\n", "{\"x\":1}\n"}) {
    const auto path = folder.file("broken", text);
    EXPECT_THROW(read_sweep_table(path), Error) << text;
  }
  EXPECT_THROW(read_sweep_table(folder.path()), Error);
  EXPECT_THROW(read_sweep_table(folder.path() / "absent"), Error);
}

}  // namespace
}  // namespace strata
