// SPDX-License-Identifier: Apache-2.0
// Programs that are watched, from outside: what strata says, what it exits with, what is left.
#include "strata/capture/log_reader.hpp"
#include "strata/capture/read_recording.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

namespace strata::test {
namespace {

const std::string fake_program = STRATA_FAKE_PROGRAM;

Outcome capture(const TemporaryFolder& folder, std::vector<std::string> words,
                std::vector<std::string> environment = {}) {
  words.insert(words.begin(), {STRATA_BINARY, "capture"});
  // The made-up program records by itself; any library will do.
  environment.push_back("STRATA_INJECT_LIBRARY=" + fake_program);
  return run_words(words, {.folder = folder.path(), .environment = environment});
}

std::size_t kernels_in(const std::filesystem::path& file) {
  std::size_t kernels = 0;
  for (const Recording& recording : read_recordings(file)) kernels += recording.kernels.size();
  return kernels;
}

constexpr std::size_t kernels_per_step = 5;

TEST(Capture, records_everything_and_passes_the_exit_code_on) {
  const TemporaryFolder folder;
  const Outcome outcome =
      capture(folder, {"-o", "a.sqlite", "--", fake_program, "--steps", "40", "--then", "exit=7"});
  EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
  EXPECT_NE(outcome.out.find("40 steps\n"), std::string::npos);
  EXPECT_NE(outcome.err.find("exit code 7"), std::string::npos);
  EXPECT_EQ(kernels_in(folder.path() / "a.sqlite"), 40 * kernels_per_step);
  // Nothing but the result is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Capture, a_program_that_crashes_leaves_its_records) {
  for (const auto& [how, code] : {std::pair{"abort", 134}, {"segv", 139}, {"_exit", 5}}) {
    const TemporaryFolder folder;
    // What was handed over is there; the rest of a tenth of a second may not be.
    const Outcome outcome = capture(folder, {"-o", "a.sqlite", "--", fake_program, "--seconds", "1",
                                             "--rate", "2000", "--then", how});
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find("without cleaning up"), std::string::npos) << outcome.err;
    EXPECT_GT(kernels_in(folder.path() / "a.sqlite"), 100U);
  }
}

TEST(Capture, a_child_of_fork_is_a_process_of_its_own) {
  const TemporaryFolder folder;
  capture(folder, {"-o", "a.sqlite", "--", fake_program, "--steps", "10", "--then", "fork"});
  const std::vector<Recording> recordings = read_recordings(folder.path() / "a.sqlite");
  ASSERT_EQ(recordings.size(), 2U);
  EXPECT_EQ(recordings[0].kernels.size() + recordings[1].kernels.size(),
            (10 + 100 + 100) * kernels_per_step);
}

TEST(Capture, a_program_without_cuda_is_told_as_such) {
  const TemporaryFolder folder;
  const Outcome outcome = capture(folder, {"--", "sh", "-c", "echo hello; exit 3"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_NE(outcome.err.find("strata capture: warning: nothing was recorded: "), std::string::npos);
  EXPECT_NE(outcome.err.find("never initialised CUDA"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Capture, refuses_what_it_cannot_do) {
  const TemporaryFolder folder;
  EXPECT_EQ(capture(folder, {"--", "./is_not_there"}).exit_code, 2);
  EXPECT_EQ(capture(folder, {}).exit_code, 2);
  EXPECT_EQ(capture(folder, {"--kill", "--", "true"}).exit_code, 2);
  EXPECT_EQ(capture(folder, {"--duration", "soon", "--", "true"}).exit_code, 2);
  const Outcome other = capture(folder, {"--", "true"}, {"CUDA_INJECTION64_PATH=/opt/other.so"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.err.find("/opt/other.so"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Capture, only_what_was_asked_for) {
  const TemporaryFolder folder;
  const Outcome ranges = capture(folder, {"-o", "r.sqlite", "--range", "step", "--skip", "3",
                                          "--steps", "4", "--", fake_program, "--steps", "20"});
  EXPECT_EQ(ranges.exit_code, 0) << ranges.err;
  EXPECT_EQ(kernels_in(folder.path() / "r.sqlite"), 4 * kernels_per_step);

  const Outcome steps = capture(folder, {"-o", "s.sqlite", "--skip", "5", "--steps", "6", "--",
                                         fake_program, "--steps", "20"});
  EXPECT_EQ(steps.exit_code, 0) << steps.err;
  EXPECT_EQ(kernels_in(folder.path() / "s.sqlite"), 6 * kernels_per_step);

  const Outcome never =
      capture(folder, {"-o", "n.sqlite", "--range", "epoch", "--", fake_program, "--steps", "20"});
  EXPECT_EQ(never.exit_code, 0);
  EXPECT_NE(never.err.find("'epoch', which the program never opened"), std::string::npos)
      << never.err;
}

TEST(Capture, ends_the_program_when_it_has_enough) {
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = capture(folder, {"-o", "a.sqlite", "--duration", "300ms", "--kill", "--",
                                           fake_program, "--seconds", "30", "--rate", "1000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_GT(kernels_in(folder.path() / "a.sqlite"), 10U);
}

/// The program is killed at some moment; records are numbered, so none may be missing before the
/// last, and the last must not be older than a few periods of the recorder.
TEST(Capture, killing_loses_only_what_was_not_handed_over) {
  std::mt19937 random(11);
  for (int round = 0; round < 3; ++round) {
    const TemporaryFolder folder;
    const std::string log = (folder.path() / "a.log").string();
    const pid_t child = ::fork();
    if (child == 0)
      become({fake_program, "--seconds", "20", "--rate", "5000"},
             {.environment = {"STRATA_CAPTURE=log=" + log + "\n"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random() % 300));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const auto end = std::chrono::system_clock::now().time_since_epoch();
    const CaptureLog read = read_capture_log(log);
    EXPECT_EQ(read.state, LogState::recording);
    const std::vector<KernelRecord>& kernels = read.recording.kernels;
    ASSERT_FALSE(kernels.empty());
    for (std::size_t i = 0; i < kernels.size(); ++i) ASSERT_EQ(kernels[i].correlation, i + 1);
    const double missing_s = std::chrono::duration<double>(end).count() -
                             1e-9 * static_cast<double>(kernels.back().time.end_ns);
    EXPECT_LT(missing_s, 2) << "a tenth of a second, and what a busy computer adds";
  }
}

TEST(Capture, a_full_disk_ends_the_recording_and_not_the_program) {
  const TemporaryFolder folder;
  const std::string log = (folder.path() / "a.log").string();
  const Outcome outcome = run_words(
      {"sh", "-c", "ulimit -f 200; exec \"$0\" --steps 30000 --seconds 0.3", fake_program},
      {.environment = {"STRATA_CAPTURE=log=" + log + "\n"}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("recording stopped"), std::string::npos) << outcome.err;
  const CaptureLog read = read_capture_log(log);
  EXPECT_EQ(read.state, LogState::disk_full);
  EXPECT_GT(read.recording.lost_records, 0);
}

TEST(Capture, logs_of_ranks_become_one_file) {
  const TemporaryFolder folder;
  for (const char* rank : {"0", "1"}) {
    const Outcome outcome = run_words(
        {fake_program, "--steps", "3"},
        {.environment = {std::string("RANK=") + rank,
                         "STRATA_CAPTURE=log=" + (folder.path() / "rank%r.log").string() + "\n"}});
    ASSERT_EQ(outcome.exit_code, 0);
  }
  const Outcome merged =
      capture(folder, {"--merge", "-o", "both.sqlite", "rank0.log", "rank1.log"});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  const std::vector<Recording> recordings = read_recordings(folder.path() / "both.sqlite");
  ASSERT_EQ(recordings.size(), 2U);
  EXPECT_NE(recordings[0].process.rank, recordings[1].process.rank);
  EXPECT_EQ(capture(folder, {"--merge", "both.sqlite"}).exit_code, 2);
}

#ifdef STRATA_FAKE_CUPTI
/// The injected library itself, on a CUPTI without a GPU.
TEST(Injection, takes_what_cupti_hands_out) {
  const TemporaryFolder folder;
  const std::string library_path = std::string("LD_LIBRARY_PATH=") + STRATA_FAKE_CUPTI;
  const auto inject = [&](std::vector<std::string> words, std::string more = "A=b") {
    words.insert(words.begin(), {STRATA_BINARY, "capture", "-o", "a.sqlite"});
    return run_words(words,
                     {.folder = folder.path(), .environment = {library_path, std::move(more)}});
  };
  const Outcome all = inject({"--", STRATA_FAKE_DRIVER_PROGRAM, "10", "4"});
  EXPECT_EQ(all.exit_code, 4) << all.err;
  const std::vector<Recording> recordings = read_recordings(folder.path() / "a.sqlite");
  ASSERT_EQ(recordings.size(), 1U);
  EXPECT_EQ(recordings[0].kernels.size(), 40U);
  EXPECT_EQ(recordings[0].copies.size(), 10U);
  EXPECT_EQ(recordings[0].copies[0].bytes, 4096);
  EXPECT_EQ(recordings[0].copies[0].source, MemoryKind::pinned);
  EXPECT_EQ(recordings[0].calls.size(), 40U);
  EXPECT_EQ(recordings[0].names.text(recordings[0].calls[0].name), "cudaLaunchKernel");
  EXPECT_EQ(recordings[0].ranges.size(), 20U);

  const Outcome part = inject(
      {"--range", "step", "--skip", "2", "--steps", "3", "--", STRATA_FAKE_DRIVER_PROGRAM, "10"});
  EXPECT_EQ(part.exit_code, 0) << part.err;
  EXPECT_EQ(kernels_in(folder.path() / "a.sqlite"), 9U);  // those between the steps are left out

  const Outcome killed = inject({"--", STRATA_FAKE_DRIVER_PROGRAM, "10", "kill"});
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_EQ(kernels_in(folder.path() / "a.sqlite"), 40U);

  // No chip, no counters; what was recorded stays.
  const Outcome refused = inject({"--metrics", "roofline", "--", STRATA_FAKE_DRIVER_PROGRAM, "7"});
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_NE(refused.err.find("no counters"), std::string::npos);
  EXPECT_EQ(kernels_in(folder.path() / "a.sqlite"), 28U);

  const Outcome other = inject({"--", STRATA_FAKE_DRIVER_PROGRAM, "10"}, "FAKE_CUPTI_SUBSCRIBE=39");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.err.find("another profiler is attached"), std::string::npos) << other.err;
}
#endif

}  // namespace
}  // namespace strata::test
