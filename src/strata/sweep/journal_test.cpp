// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/journal.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/sweep/made_up_sweep_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace strata {
namespace {

class Journal : public testing::Test {
 protected:
  /// Logs these points as a worker would, and goes away as if killed.
  void log(std::initializer_list<std::int64_t> points, int number = 0) {
    SweepJournal journal(output_, identity_);
    journal.load(IfPresent::resume);
    journal.begin(0, true);
    WorkerLog log(journal, number);
    for (const std::int64_t point : points) log.append(point, test::made_up_result(point));
  }
  std::set<std::int64_t> loaded() {
    SweepJournal journal(output_, identity_);
    journal.load(IfPresent::resume);
    std::set<std::int64_t> points;
    for (const auto& [point, result] : journal.loaded({0, 0, 100})) {
      EXPECT_EQ(result.error, test::made_up_result(point).error);
      EXPECT_EQ(result.totals.time_s, test::made_up_result(point).totals.time_s);
      points.insert(point);
    }
    return points;
  }
  std::string refusal(IfPresent if_present, const SweepIdentity& identity) {
    SweepJournal journal(output_, identity);
    try {
      journal.load(if_present);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "";
  }

  const SweepIdentity identity_{"0123", "9.9", 100};
  const test::TemporaryFolder folder_;
  const std::filesystem::path output_ = folder_.path() / "points.csv";
  const std::filesystem::path part_ = folder_.path() / "points.csv.part";
};

using Points = std::set<std::int64_t>;

TEST_F(Journal, gives_back_what_workers_have_logged_over_many_runs) {
  EXPECT_EQ(loaded(), Points());
  log({7, 3, 50});
  log({8}, 1);
  EXPECT_EQ(loaded(), Points({3, 7, 8, 50}));
  log({9});  // takes the name of the first log, whose points are kept elsewhere by now
  EXPECT_EQ(loaded(), Points({3, 7, 8, 9, 50}));
}

TEST_F(Journal, cut_off_at_any_byte_loses_only_what_was_cut) {
  log({10, 11, 12});  // the middle of the three has no error text
  const std::filesystem::path file = part_ / "0a";
  const auto size = std::filesystem::file_size(file);
  std::size_t before = 3;
  for (auto bytes = size; bytes > 0;) {
    std::filesystem::resize_file(file, --bytes);
    const std::size_t count = loaded().size();
    EXPECT_LE(count, before);
    EXPECT_GE(count + 1, before);
    before = count;
  }
  EXPECT_EQ(before, 0U);
}

TEST_F(Journal, drops_a_record_whose_bytes_have_changed) {
  log({1, 2});
  std::fstream file(part_ / "0a", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-5, std::ios::end);
  file.put('\x7f');
  file.close();
  EXPECT_EQ(loaded(), Points({1}));
}

// A record that somebody made: its checksum is right, its content is not a result.
TEST_F(Journal, ends_at_a_record_that_holds_no_result) {
  log({3});
  std::uintmax_t size = 0;
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(part_)) {
    if (entry.file_size() > size) file = entry.path();
    size = std::max(size, entry.file_size());
  }
  for (const std::string& body :
       {std::string(), std::string("too short"), packed({}) + "\x1b[2J"}) {
    const std::int64_t point = 5;
    std::uint32_t check = 0x811c9dc5;  // FNV-1a, as journal_log.cpp has it
    std::string bytes(reinterpret_cast<const char*>(&point), sizeof point);
    bytes += body;
    for (const char c : bytes) check = (check ^ static_cast<unsigned char>(c)) * 0x01000193U;
    const auto length = static_cast<std::uint32_t>(body.size());
    std::filesystem::resize_file(file, size);
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out.write(reinterpret_cast<const char*>(&check), sizeof check);
    out << bytes;
    out.close();
    EXPECT_EQ(loaded(), Points({3})) << body.size();
  }
}

TEST_F(Journal, of_another_sweep_or_of_something_else_is_left_alone) {
  log({1, 2});
  const SweepIdentity other{"4567", "9.9", 100};
  EXPECT_NE(refusal(IfPresent::resume, other).find("holds no points of this sweep"),
            std::string::npos);
  EXPECT_NE(refusal(IfPresent::refuse, identity_).find("--resume"), std::string::npos);
  EXPECT_EQ(refusal(IfPresent::replace, other), "");
  EXPECT_EQ(loaded(), Points({1, 2}));
  std::ofstream(part_ / "diary") << "my diary";
  for (const IfPresent each : {IfPresent::resume, IfPresent::refuse, IfPresent::replace})
    EXPECT_NE(refusal(each, identity_).find("no sweep wrote"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(part_ / "diary"), 8U);
  std::filesystem::remove_all(part_);
  std::ofstream(part_) << "a file";
  EXPECT_NE(refusal(IfPresent::resume, identity_).find("is no journal"), std::string::npos);
}

// They begin as a journal does, but no sweep writes files of such names.
TEST_F(Journal, with_files_of_others_is_not_emptied) {
  log({1});
  for (const char* text : {"s", ""}) {
    std::ofstream(part_ / "x") << text;
    for (const IfPresent each : {IfPresent::resume, IfPresent::refuse, IfPresent::replace})
      EXPECT_NE(refusal(each, identity_).find("no sweep wrote"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(part_ / "x"));
  }
  std::filesystem::remove(part_ / "x");
  SweepJournal journal(output_, identity_);
  journal.load(IfPresent::resume);
  std::ofstream(part_ / "x") << "s";  // while the sweep runs
  journal.begin(0, true);
  journal.remove();
  EXPECT_TRUE(std::filesystem::exists(part_ / "x"));
}

TEST_F(Journal, behind_a_link_is_left_alone) {
  log({1});
  const std::filesystem::path elsewhere = folder_.path() / "elsewhere";
  std::filesystem::rename(part_, elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, part_);
  for (const IfPresent each : {IfPresent::resume, IfPresent::refuse, IfPresent::replace})
    EXPECT_NE(refusal(each, identity_).find("is no journal"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(elsewhere / "0a"));
}

// A log is made anew, not emptied: its file may be that of another name.
TEST_F(Journal, does_not_write_through_a_second_name) {
  const std::filesystem::path diary = folder_.file("diary", "my diary");
  std::filesystem::create_hard_link(diary, folder_.path() / "0a");
  const JournalLog log(folder_.path() / "0a", "strata_journal 1 \n");
  EXPECT_EQ(std::filesystem::file_size(diary), 8U);
}

TEST_F(Journal, knows_how_far_it_was_where_points_were_left_out) {
  SweepJournal journal(output_, identity_);
  journal.begin(0, false);
  journal.set_written({.done = 70, .rows_end = 20}, /*is_marked=*/true);
  SweepJournal next(output_, identity_);
  next.load(IfPresent::resume);
  EXPECT_EQ(next.first_wanted(20), 70);
  EXPECT_EQ(next.first_wanted(15), 15);  // rows are gone: what was left out cannot be told
  EXPECT_EQ(next.first_wanted(90), 90);
  next.remove();
  EXPECT_FALSE(std::filesystem::exists(part_));
}

TEST_F(Journal, stays_small_when_the_output_keeps_up) {
  SweepJournal journal(output_, {"0123", "9.9", 1'000'000});
  journal.begin(0, true);
  WorkerLog log(journal, 0);
  const PointResult result = test::made_up_result(1);
  for (std::int64_t point = 0; point < 100'000; ++point) {
    log.append(point, result);
    journal.set_written(point / 1000 * 1000);
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(part_)) bytes += entry.file_size();
  EXPECT_LT(bytes, 100'000 * packed_bytes() * 3 / 4);
  journal.load(IfPresent::replace);
  EXPECT_EQ(journal.find(99'999), nullptr);
  SweepJournal next(output_, {"0123", "9.9", 1'000'000});
  next.load(IfPresent::resume);
  for (std::int64_t point = 99'000; point < 100'000; ++point) EXPECT_NE(next.find(point), nullptr);
}

}  // namespace
}  // namespace strata
