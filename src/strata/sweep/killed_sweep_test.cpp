// SPDX-License-Identifier: Apache-2.0
// A sweep that is killed loses at most the point that each worker had under way.
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/sweep/made_up_sweep_test.hpp"
#include "strata/sweep/table.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <random>
#include <thread>

namespace strata {
namespace {

/// A number that another process counts up; it stays when that process is killed.
class SharedCount {
 public:
  SharedCount()
      : page_(::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)),
        count_(new (page_) Count(0)) {}
  ~SharedCount() { ::munmap(page_, sizeof(Count)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  std::atomic<std::int64_t>& value() { return *count_; }

 private:
  using Count = std::atomic<std::int64_t>;
  void* page_;
  Count* count_;
};

enum class Form : std::uint8_t { csv, json_lines, database };

class KilledSweep : public testing::TestWithParam<Form> {
 protected:
  std::unique_ptr<SweepSink> open() { return open(columns_, {"0123", "9.9", grid_.size()}); }
  std::unique_ptr<SweepSink> open(const SweepColumns& columns, const SweepIdentity& identity) {
    if (GetParam() == Form::database)
      return database_sink(path_, IfPresent::resume, columns, identity);
    const TextForm form = GetParam() == Form::csv ? TextForm::csv : TextForm::json_lines;
    return text_file_sink(form, path_, IfPresent::resume, columns, identity);
  }
  /// A build may lack a form.
  bool can_open() {
    try {
      open();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::environment) throw;
      return false;
    }
    std::filesystem::remove(path_);
    return true;
  }
  std::int64_t rows() { return open()->done(); }

  /// In a process of its own.
  pid_t start(std::atomic<std::int64_t>& finished) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    const std::unique_ptr<SweepSink> sink = open();
    run_points({.range = {sink->done(), grid_.size(), 100'000, 1},
                .make_worker = [&] { return std::make_unique<test::CountingWorker>(finished); },
                .sinks = {sink.get()}});
    ::_exit(0);
  }

  const Grid grid_ = test::made_up_grid(100'000);
  const SweepColumns columns_{grid_};
  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "points";
};

TEST_P(KilledSweep, loses_at_most_the_last_point) {
  if (!can_open()) GTEST_SKIP() << "this build lacks it";
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  std::uniform_int_distribution<int> moment_us(0, 12'000);
  SharedCount finished;
  for (int round = 0; round < 12; ++round) {
    const std::int64_t before = rows();
    finished.value() = before;
    const pid_t child = start(finished.value());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (finished.value() == before && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(moment_us(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
    const std::int64_t there = rows();
    EXPECT_GT(finished.value(), before);
    EXPECT_LE(there, finished.value());
    EXPECT_GE(there, finished.value() - 1);
  }
}

/// On several threads: what one has finished is safe, whatever the others are at.
class KilledThreads : public KilledSweep {
 protected:
  static constexpr std::int64_t threads = 4;
  static constexpr std::int64_t point_count = 2400;

  SweepOutcome run_all(std::atomic<std::int64_t>& finished, std::int64_t workers) {
    SweepJournal journal(path_, identity_);
    journal.load(IfPresent::resume);
    const std::unique_ptr<SweepSink> sink = open(few_columns_, identity_);
    const std::int64_t first = journal.first_wanted(sink->done());
    journal.begin(first, workers > 1);
    const SweepOutcome outcome =
        run_points({.range = {first, few_.size(), 1200, 1},
                    .make_worker = [&] { return std::make_unique<test::CountingWorker>(finished); },
                    .sinks = {sink.get()},
                    .journal = &journal,
                    .rows_end = sink->done(),
                    .threads = workers});
    journal.remove();
    return outcome;
  }
  pid_t start_threads(std::atomic<std::int64_t>& finished) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    run_all(finished, threads);
    ::_exit(0);
  }

  const Grid few_ = test::made_up_grid(point_count / 2);
  const SweepColumns few_columns_{few_};
  const SweepIdentity identity_{"0123", "9.9", point_count};
};

TEST_P(KilledThreads, lose_at_most_one_point_each) {
  if (!can_open()) GTEST_SKIP() << "this build lacks it";
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  std::uniform_int_distribution<int> moment_us(0, 12'000);
  SharedCount finished;
  std::int64_t kills = 0;
  for (int round = 0; round < 8; ++round) {
    const std::int64_t before = finished.value();
    const pid_t child = start_threads(finished.value());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (finished.value() == before && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(moment_us(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) ++kills;
  }
  ASSERT_GT(kills, 1);
  const bool is_alone = moment_us(random) % 2 == 0;  // another number of threads may go on
  EXPECT_EQ(run_all(finished.value(), is_alone ? 1 : 3).done, point_count);
  EXPECT_GE(finished.value(), point_count);
  EXPECT_LE(finished.value(), point_count + kills * threads);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".part"));
  EXPECT_EQ(open(few_columns_, identity_)->done(), point_count);
  const SweepTable table = read_sweep_table(path_);
  ASSERT_EQ(table.row_count, static_cast<std::size_t>(point_count));
  for (std::size_t row = 0; row < table.row_count; ++row) {
    ASSERT_EQ(table.column("point").numbers[row], static_cast<double>(row));
    const PointResult expected = test::made_up_result(static_cast<std::int64_t>(row));
    ASSERT_EQ(table.is_failed(row), !expected.error.empty());
    if (expected.error.empty()) {
      ASSERT_EQ(table.column("time_s").numbers[row], expected.totals.time_s);
    }
  }
}

std::string name_of_form(const testing::TestParamInfo<Form>& info) {
  return info.param == Form::csv ? "csv" : info.param == Form::database ? "database" : "json_lines";
}

INSTANTIATE_TEST_SUITE_P(Files, KilledSweep,
                         testing::Values(Form::csv, Form::json_lines, Form::database),
                         name_of_form);
INSTANTIATE_TEST_SUITE_P(Files, KilledThreads,
                         testing::Values(Form::csv, Form::json_lines, Form::database),
                         name_of_form);

}  // namespace
}  // namespace strata
