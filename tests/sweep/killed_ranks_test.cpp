// SPDX-License-Identifier: Apache-2.0
// A rank that is killed takes the others with it; each loses at most the point that it had under
// way.
#include "tests/cli/run_program.hpp"
#include "tests/sweep/rank_sweep.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <thread>

namespace strata::test {
namespace {

using Clock = std::chrono::steady_clock;

class KilledRanks : public testing::Test {
 protected:
  static constexpr int kills = rank_sweep_ranks;  // each of them once

  void SetUp() override {
#ifndef STRATA_RANK_SWEEP
    GTEST_SKIP() << "this build has no MPI";
#else
    words_ = {"mpirun",
              "--oversubscribe",
              "-n",
              std::to_string(rank_sweep_ranks),
              STRATA_RANK_SWEEP,
              output_.string(),
              (folder_.path() / "state").string()};
    if (run_words({"sh", "-c", "command -v mpirun"}).exit_code != 0) GTEST_SKIP() << "no mpirun";
#endif
  }
  pid_t start() {
    const int out = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    const pid_t child = start_words(words_, where_, out, out);
    ::close(out);
    return child;
  }
  /// One of the ranks, at a random moment after the first point of this run.
  void kill_a_rank(int round) {
    const std::int64_t before = state_->finished;
    state_->allowed = rank_sweep_points * (round + 1) / (kills + 1);
    const pid_t mpirun = start();
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    while (state_->finished == before && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_GT(state_->finished, before) << "it does not begin";
    std::this_thread::sleep_for(std::chrono::microseconds(moment_us_(random_)));
    ::kill(state_->processes.at(static_cast<std::size_t>(round) % rank_sweep_ranks), SIGKILL);
    exit_code_of_child(mpirun);
  }

  const TemporaryFolder folder_;
  const std::filesystem::path output_ = folder_.path() / "points.csv";
  const Surroundings where_{.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                            "ASAN_OPTIONS=detect_leaks=0",  // of MPI's own
                                            "HOME=" + folder_.path().string()}};
  SharedState state_{folder_.path() / "state"};
  std::vector<std::string> words_;
  std::mt19937 random_{static_cast<unsigned>(::getpid())};
  std::uniform_int_distribution<int> moment_us_{0, 20'000};
};

TEST_F(KilledRanks, lose_at_most_one_point_each) {
  for (int round = 0; round < kills; ++round) ASSERT_NO_FATAL_FAILURE(kill_a_rank(round));
  ASSERT_LT(state_->finished, rank_sweep_points) << "there was nothing left to resume";
  state_->allowed = std::numeric_limits<std::int64_t>::max();
  const Outcome last = run_words(words_, where_);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_GE(state_->finished, rank_sweep_points);
  EXPECT_LE(state_->finished, rank_sweep_points + kills * rank_sweep_ranks);
  std::ifstream file(output_);
  std::string line;
  std::getline(file, line);  // the heading
  std::int64_t rows = 0;
  for (; std::getline(file, line); ++rows)
    ASSERT_TRUE(line.starts_with(std::to_string(rows) + ",")) << line;
  EXPECT_EQ(rows, rank_sweep_points);
}

}  // namespace
}  // namespace strata::test
