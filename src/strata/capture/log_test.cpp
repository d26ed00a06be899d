// SPDX-License-Identifier: Apache-2.0
// What is written into a log is what is read from it, wherever its end is.
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/capture/log_path.hpp"
#include "strata/capture/log_reader.hpp"
#include "strata/capture/log_writer.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

namespace strata {
namespace {

constexpr std::uint64_t noon_ns = 1'800'000'000'000'000'000;

LogPage page_at_noon() {
  LogPage page;
  page.unix_ns = noon_ns;
  page.recorder_ns = 1000;  // a clock of its own
  return page;
}

void append_kernel(LogWriter& log, std::string_view name, std::uint64_t start_ns) {
  LogKernel kernel;
  kernel.head = log_head<LogKernel>(LogKind::kernel, log.name_id(name));
  kernel.start_ns = start_ns;
  kernel.end_ns = start_ns + 500;
  kernel.correlation = static_cast<std::uint32_t>(start_ns);
  kernel.grid = {3, 2, 1};
  log.append(kernel);
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CaptureLog read_bytes(const std::string& bytes) {
  std::istringstream stream(bytes);
  return read_capture_log(stream);
}

TEST(CaptureLog, keeps_what_was_appended) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.log").string();
  {
    LogWriter log(path, page_at_noon(), [](LogWriter& begun) {
      begun.append_text(LogKind::info, static_cast<std::uint32_t>(LogInfo::command), "train");
    });
    for (std::uint64_t i = 1; i <= 100; ++i) append_kernel(log, "_Z4convPf", 1000 * i);
    LogMarker marker;
    marker.head = log_head<LogMarker>(LogKind::marker, log.name_id("conv1"));
    marker.at_ns = 2000;
    marker.id = 9;
    marker.part = MarkerPart::begin;
    log.append(marker);
    marker.head.value = 0;
    marker.at_ns = 5000;
    marker.part = MarkerPart::end;
    log.append(marker);
    log.add_lost(7, 0);
    log.end(LogState::ended, {});
  }
  const CaptureLog log = read_capture_log(path);
  const Recording& recording = log.recording;
  EXPECT_EQ(log.state, LogState::ended);
  EXPECT_EQ(log.torn_bytes, 0);
  ASSERT_EQ(recording.kernels.size(), 100U);
  EXPECT_EQ(recording.names.text(recording.kernels[0].name), "conv(float*)");
  EXPECT_EQ(recording.kernels[0].time.start_ns, static_cast<std::int64_t>(noon_ns));
  EXPECT_EQ(recording.kernels[99].grid, (std::array<std::uint32_t, 3>{3, 2, 1}));
  ASSERT_EQ(recording.ranges.size(), 1U);
  EXPECT_EQ(recording.ranges[0].time.length_ns(), 3000);
  EXPECT_EQ(recording.names.text(recording.ranges[0].name), "conv1");
  EXPECT_EQ(recording.lost_records, 7);
  EXPECT_EQ(recording.process.command, "train");
  EXPECT_EQ(recording.process.pid, ::getpid());
  EXPECT_TRUE(recording.process.ending.empty());
}

TEST(CaptureLog, is_readable_wherever_it_is_cut) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.log").string();
  std::vector<std::size_t> ends;  // of each kernel
  {
    LogWriter log(path, page_at_noon(), {});
    for (std::uint64_t i = 1; i <= 50; ++i) {
      append_kernel(log, i % 2 == 0 ? "even" : "odd", 1000 * i);
      ends.push_back(static_cast<std::size_t>(log.bytes()));
    }
  }
  const std::string whole = bytes_of(path);
  ASSERT_EQ(whole.size(), ends.back());
  for (std::size_t cut = log_page_bytes; cut <= whole.size(); ++cut) {
    const CaptureLog log = read_bytes(whole.substr(0, cut));
    const auto expected =
        std::count_if(ends.begin(), ends.end(), [&](std::size_t end) { return end <= cut; });
    ASSERT_EQ(log.recording.kernels.size(), static_cast<std::size_t>(expected)) << cut;
    EXPECT_EQ(log.state, LogState::recording);
    EXPECT_FALSE(log.recording.process.ending.empty());
  }
  EXPECT_THROW(read_bytes(whole.substr(0, 500)), Error);
  EXPECT_THROW(read_bytes("something else entirely, and long enough"), Error);
}

TEST(CaptureLog, garbage_never_does_more_than_end_it) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.log").string();
  {
    LogWriter log(path, page_at_noon(), {});
    for (std::uint64_t i = 1; i <= 20; ++i) append_kernel(log, "k", 1000 * i);
  }
  const std::string whole = bytes_of(path);
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 4; ++change)
      bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random());
    try {
      EXPECT_LE(read_bytes(bytes).recording.kernels.size(), 20U);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
    }
  }
}

/// What the writer said must not be lost: everything before the last hand_over.
TEST(CaptureLog, a_limit_on_file_sizes_ends_it_and_says_so) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.log").string();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 64 << 10, .rlim_max = 64 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    LogWriter log(path, page_at_noon(), {});
    bool is_whole = true;
    for (std::uint64_t i = 1; i <= 2000; ++i) {
      append_kernel(log, "k", 1000 * i);
      if (i % 100 == 0) is_whole = log.hand_over() && is_whole;
    }
    const bool is_told = !is_whole && log.is_over() && !log.problem().empty();
    ::_exit(is_told ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const CaptureLog log = read_capture_log(path);
  EXPECT_EQ(log.state, LogState::disk_full);
  EXPECT_EQ(log.recording.kernels.size() % 100, 0U);
  EXPECT_GT(log.recording.kernels.size(), 0U);
  // Counted up to the moment at which the page was last written.
  EXPECT_GE(log.recording.lost_records, 100);
  EXPECT_NE(log.recording.process.ending.find("File too large"), std::string::npos);
}

TEST(CaptureLog, a_full_disk_is_a_problem_and_not_a_crash) {
  LogWriter log("/dev/full/%p", page_at_noon(), {});
  EXPECT_FALSE(log.open());
  EXPECT_FALSE(log.problem().empty());
  append_kernel(log, "k", 1);
  EXPECT_FALSE(log.hand_over());
}

TEST(CaptureLog, a_child_of_fork_has_its_own) {
  const test::TemporaryFolder folder;
  LogWriter log((folder.path() / "%p.log").string(), page_at_noon(), [](LogWriter& begun) {
    begun.append_text(LogKind::info, static_cast<std::uint32_t>(LogInfo::command), "both");
  });
  for (std::uint64_t i = 1; i <= 10; ++i) append_kernel(log, "parent", i);
  const pid_t child = ::fork();
  if (child == 0) {
    for (std::uint64_t i = 1; i <= 3; ++i) append_kernel(log, "child", i);
    log.end(LogState::ended, {});
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  append_kernel(log, "parent", 11);
  log.end(LogState::ended, {});
  const CaptureLog ours = read_capture_log(folder.path() / (std::to_string(::getpid()) + ".log"));
  const CaptureLog theirs = read_capture_log(folder.path() / (std::to_string(child) + ".log"));
  EXPECT_EQ(ours.recording.kernels.size(), 11U);
  EXPECT_EQ(theirs.recording.kernels.size(), 3U);
  EXPECT_EQ(theirs.recording.process.pid, child);
  EXPECT_EQ(theirs.recording.process.command, "both");
  EXPECT_EQ(theirs.recording.names.text(theirs.recording.kernels[0].name), "child");
}

TEST(CaptureLog, names_stay_right_when_there_are_too_many_to_remember) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.log").string();
  constexpr std::uint64_t count = 2000;
  {
    LogWriter log(path, page_at_noon(), {});
    const std::string long_tail(40'000, 'x');  // the table of names overflows twice
    for (std::uint64_t i = 0; i < count; ++i)
      append_kernel(log, std::to_string(i % 1900) + long_tail, 1 + i);
  }
  const Recording recording = read_capture_log(path).recording;
  ASSERT_EQ(recording.kernels.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view name = recording.names.text(recording.kernels[i].name);
    ASSERT_EQ(name.substr(0, name.find('x')), std::to_string(i % 1900));
  }
}

TEST(LogPath, knows_process_host_and_rank) {
  ::setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  ::setenv("RANK", "8", 1);
  EXPECT_EQ(expanded_path("a-%p-%r-%h-%%-%x"),
            "a-" + std::to_string(::getpid()) + "-3-" + host_name() + "-%-%x");
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(rank_of_process(), 8);
  ::setenv("RANK", "many", 1);
  EXPECT_EQ(rank_of_process(), -1);
  ::unsetenv("RANK");
}

}  // namespace
}  // namespace strata
