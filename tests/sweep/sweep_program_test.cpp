// SPDX-License-Identifier: Apache-2.0
// `strata sweep` as a user has it: killed, interrupted, resumed, on threads and on ranks.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

namespace strata::test {
namespace {

// Enough work that there is something to interrupt.
const std::vector<std::string> sweep_words = {
    "sweep",       "alexnet",     "lenet5",           "--on",
    "rtx-2080-ti", "--capacity",  "4MiB:100MiB:4MiB", "--batch",
    "8,16",        "--bandwidth", "616GB/s,1555GB/s"};

std::string file_content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Runs it for a while, then sends the signal; the exit code tells whether it was done before.
int run_for(std::vector<std::string> words, double seconds, int signal, int err) {
  words.insert(words.begin(), STRATA_BINARY);
  const pid_t child = start_words(words, {}, ::open("/dev/null", O_WRONLY), err);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  ::kill(child, signal);
  return exit_code_of_child(child);
}

class SweepProgram : public testing::Test {
 protected:
  std::filesystem::path reference() {
    const std::filesystem::path path = folder_.path() / "reference.csv";
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = run(with(sweep_words, {"--csv", path.string(), "--threads", "1"}));
    reference_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return path;
  }
  const TemporaryFolder folder_;
  double reference_s_ = 0;
};

TEST_F(SweepProgram, killed_at_random_moments_resumes_to_the_same_bytes) {
  const std::string whole = file_content(reference());
  const std::filesystem::path path = folder_.path() / "killed.csv";
  const std::vector<std::string> words =
      with(sweep_words, {"--csv", path.string(), "--resume", "--threads", "2"});
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  std::uniform_real_distribution<double> moment_s(0, 0.8 * reference_s_);
  const File err = temporary_file();
  int kills = 0;
  for (int round = 0; round < 10; ++round) {
    const int code = run_for(words, moment_s(random), SIGKILL, ::fileno(err.get()));
    const std::string there = file_content(path);
    ASSERT_EQ(whole.compare(0, there.size(), there), 0);  // whole up to where it was cut
    if (code == 0) {
      std::filesystem::remove(path);
      continue;
    }
    ASSERT_EQ(code, -SIGKILL) << content_of(::fileno(err.get()));
    ++kills;
  }
  EXPECT_GT(kills, 0);
  EXPECT_EQ(run(words).exit_code, 0);
  EXPECT_EQ(file_content(path), whole);
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".part"));
}

TEST_F(SweepProgram, asked_to_stop_says_how_to_go_on) {
  const std::string whole = file_content(reference());
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::filesystem::path path = folder_.path() / (std::to_string(signal) + ".csv");
    const std::vector<std::string> words = with(sweep_words, {"--csv", path.string(), "-j", "1"});
    std::string message;
    int code = 0;
    // When it was done before the signal, or had not begun and has nothing to say: sooner or later
    // another time.
    const auto has_begun = [&] { return message.find("interrupted: ") != std::string::npos; };
    for (double share = 0.8; share > 0.1 && !has_begun(); share *= 0.85) {
      std::filesystem::remove(path);
      const File err = temporary_file();
      code = run_for(words, share * reference_s_, signal, ::fileno(err.get()));
      ::lseek(::fileno(err.get()), 0, SEEK_SET);
      message = content_of(::fileno(err.get()));
    }
    ASSERT_EQ(code, 130) << message;
    EXPECT_TRUE(has_begun());
    EXPECT_NE(message.find("--resume"), std::string::npos) << message;
    EXPECT_EQ(run(with(words, {"--resume"})).exit_code, 0);
    EXPECT_EQ(file_content(path), whole);
  }
}

TEST_F(SweepProgram, gives_the_same_bytes_on_any_number_of_threads) {
  const std::string whole = file_content(reference());
  const std::filesystem::path path = folder_.path() / "five.csv";
  EXPECT_EQ(run(with(sweep_words, {"--csv", path.string(), "-j", "5"})).exit_code, 0);
  EXPECT_EQ(file_content(path), whole);
  const Outcome stdout_only = run(sweep_words);
  // All but the last column, whose name says which sweep the file is of.
  std::string without_identity;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find('\n', at);
    without_identity += whole.substr(at, whole.rfind(',', end) - at) + '\n';
    at = end + 1;
  }
  EXPECT_EQ(stdout_only.out, without_identity);
}

TEST_F(SweepProgram, leaves_files_of_other_sweeps_alone) {
  const std::filesystem::path path = reference();
  const std::string whole = file_content(path);
  const Outcome again = run(with(sweep_words, {"--csv", path.string()}));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("is there already"), std::string::npos);
  const Outcome other = run({"sweep", "lenet5", "--csv", path.string(), "--resume"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("holds no results of this sweep"), std::string::npos);
  EXPECT_EQ(file_content(path), whole);
  EXPECT_EQ(run(with(sweep_words, {"--csv", path.string(), "--resume"})).exit_code, 0);
  EXPECT_EQ(file_content(path), whole);
}

TEST_F(SweepProgram, leaves_a_journal_of_something_else_alone) {
  const std::filesystem::path path = folder_.path() / "x.csv";
  const std::filesystem::path part = folder_.path() / "x.csv.part";
  std::filesystem::create_directory(part);
  std::ofstream(part / "notes") << "mine";
  for (const char* flag : {"--resume", "--force"}) {
    const Outcome outcome = run(with(sweep_words, {"--csv", path.string(), flag}));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("x.csv.part holds what no sweep wrote"), std::string::npos);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_EQ(file_content(part / "notes"), "mine");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SweepProgram, ranks_give_the_same_bytes_as_one_thread) {
  if (!std::filesystem::exists(std::filesystem::path(STRATA_BINARY).parent_path() / "strata-mpi") ||
      run_words({"sh", "-c", "command -v mpirun"}).exit_code != 0) {
    GTEST_SKIP() << "this build has no MPI";
  }
  const std::string whole = file_content(reference());
  const std::filesystem::path path = folder_.path() / "ranks.csv";
  const Surroundings where{.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                           "ASAN_OPTIONS=detect_leaks=0",  // of MPI's own
                                           "HOME=" + folder_.path().string()}};
  const std::vector<std::string> mpirun = {"mpirun", "--oversubscribe", "-n", "3", STRATA_BINARY};
  const Outcome outcome =
      run_words(with(mpirun, with(sweep_words, {"--csv", path.string()})), where);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(file_content(path), whole);
  // Cut off, as when a rank has died.
  std::filesystem::resize_file(path, whole.size() / 2);
  run_words(with(mpirun, with(sweep_words, {"--csv", path.string(), "--resume"})), where);
  EXPECT_EQ(file_content(path), whole);
}

TEST_F(SweepProgram, without_mpi_refuses_to_be_one_of_many) {
  // As srun would start it; a lone file has no MPI program beside it.
  const std::filesystem::path lone = folder_.path() / "strata";
  std::filesystem::copy_file(STRATA_BINARY, lone);
  const Outcome outcome = run_words({lone.string(), "sweep", "lenet5"},
                                    {.environment = {"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=4"}});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("this build has no MPI"), std::string::npos);
}

TEST(SweepInput, that_is_wrong_is_one_line_and_exit_2) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--capacity", "100MiB:24MiB:2MiB"}, "runs backwards"},
      {{"--capacity", "24:100MB:2MB"}, "write 24MB:100MB:2MB"},
      {{"--capacity", "24M"}, "has no unit"},
      {{"--throughput", "13.45T"}, "write 13.45TFLOP/s"},
      {{"--capacity", "24XB"}, "expects a size"},
      {{"--capacity", ""}, "a value is missing"},
      {{"--bandwidth", "0GB/s"}, "must be positive"},
      {{"--throughput", "-1TFLOP/s"}, "expects"},
      {{"--batch", "8:256:x1"}, "must be above 1"},
      {{"--axis", "nothing=1"}, "no parameter 'nothing'"},
      {{"--set", "capacity=4MiB"}, "machine.FIELD=RANGE"},
      {{"--capacity", "16KiB", "--strict-minimum"}, "is too small"},
      {{"--resume", "--force", "--csv", "/dev/null"}, "exclude each other"},
      {{"--threads", "0"}, "--threads"},
      {{"--csv", "/nonexistent/x.csv"}, "cannot write"},
  };
  for (const auto& [words, expected] : cases) {
    const Outcome outcome = run(with({"sweep", "lenet5"}, words));
    EXPECT_EQ(outcome.exit_code, 2) << expected;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST(SweepInput, dry_run_counts_and_writes_nothing) {
  const TemporaryFolder folder;
  const Outcome outcome = run({"sweep", "lenet5", "--capacity", "1MiB:8MiB:1MiB", "--batch", "8,16",
                               "--csv", "x.csv", "--dry-run", "-j", "2"},
                              {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out.find("16 points = 2 batch × 8 capacity\n2 programs to build\nabout "), 0U)
      << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x.csv"));
}

TEST(SweepInput, summary_of_an_earlier_run) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  EXPECT_EQ(
      run({"sweep", "lenet5", "--capacity", "1MiB:8MiB:1MiB", "--jsonl", "x"}, here).exit_code, 0);
  const Outcome outcome = run({"sweep", "--from", "x"}, here);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("8 points"), std::string::npos);
  EXPECT_NE(outcome.out.find("fastest"), std::string::npos);
  const Outcome live = run({"sweep", "lenet5", "--capacity", "1MiB:8MiB:1MiB", "--summary"}, here);
  EXPECT_EQ(live.out.substr(0, outcome.out.size()), outcome.out);  // files know nothing of reuse
}

}  // namespace
}  // namespace strata::test
