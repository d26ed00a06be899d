// SPDX-License-Identifier: Apache-2.0
// A sweep that is killed loses at most the point that was being written.
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/sweep/made_up_sweep_test.hpp"

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

/// Most points are quick and some are not: a quick one must not wait for the slow one behind it.
class CountingWorker : public PointWorker {
 public:
  explicit CountingWorker(std::atomic<std::int64_t>& finished) : finished_(finished) {}
  PointResult at(std::int64_t point) override {
    if (point % 16 == 15) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    PointResult result = test::made_up_result(point);
    ++finished_;
    return result;
  }

 private:
  std::atomic<std::int64_t>& finished_;
};

enum class Form : std::uint8_t { csv, json_lines, database };

class KilledSweep : public testing::TestWithParam<Form> {
 protected:
  std::unique_ptr<SweepSink> open() {
    const SweepIdentity identity{"0123", "9.9", grid_.size()};
    if (GetParam() == Form::database)
      return database_sink(path_, IfPresent::resume, columns_, identity);
    const TextForm form = GetParam() == Form::csv ? TextForm::csv : TextForm::json_lines;
    return text_file_sink(form, path_, IfPresent::resume, columns_, identity);
  }
  std::int64_t rows() { return open()->done(); }

  /// In a process of its own.
  pid_t start(std::atomic<std::int64_t>& finished) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    const std::unique_ptr<SweepSink> sink = open();
    run_points({.range = {sink->done(), grid_.size(), 100'000, 1},
                .make_worker = [&] { return std::make_unique<CountingWorker>(finished); },
                .sinks = {sink.get()}});
    ::_exit(0);
  }

  const Grid grid_ = test::made_up_grid(100'000);
  const SweepColumns columns_{grid_};
  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "points";
};

TEST_P(KilledSweep, loses_at_most_the_last_point) {
  try {
    open();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::environment) throw;
    GTEST_SKIP() << error.what();
  }
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

std::string name_of_form(const testing::TestParamInfo<Form>& info) {
  return info.param == Form::csv ? "csv" : info.param == Form::database ? "database" : "json_lines";
}

INSTANTIATE_TEST_SUITE_P(Files, KilledSweep,
                         testing::Values(Form::csv, Form::json_lines, Form::database),
                         name_of_form);

}  // namespace
}  // namespace strata
