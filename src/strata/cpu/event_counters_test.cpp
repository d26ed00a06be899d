// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/event_counters.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

namespace strata::cpu {
namespace {

/// At least one addition per round; the compiler cannot know the result.
void add_up(std::int64_t rounds) {
  volatile std::int64_t sum = 0;
  for (std::int64_t i = 0; i < rounds; ++i) sum = sum + i;
}

TEST(EventCounters, count_what_runs_between_start_and_stop) {
  std::string problem;
  const auto counters = open_event_counters(problem);
  if (counters == nullptr) {
    EXPECT_NE(problem, "");
    GTEST_SKIP() << problem;
  }
  const auto instructions_of = [&](std::int64_t rounds, bool in_a_thread) {
    counters->start();
    if (in_a_thread) {
      std::thread(add_up, rounds).join();
    } else {
      add_up(rounds);
    }
    return counters->stop().instructions.value_or(0);
  };
  for (const bool in_a_thread : {false, true}) {
    const std::int64_t few = instructions_of(1'000'000, in_a_thread);
    const std::int64_t many = instructions_of(10'000'000, in_a_thread);
    EXPECT_GE(few, 3'000'000);  // load, add, store
    EXPECT_GT(many, 8 * few);
    EXPECT_LT(many, 12 * few);
  }
}

TEST(EventCounters, a_refusal_says_what_helps) {
  EXPECT_NE(event_problem_text(EACCES, 4).find("kernel.perf_event_paranoid=2"), std::string::npos);
  EXPECT_NE(event_problem_text(EPERM, 1).find("seccomp"), std::string::npos);
  EXPECT_NE(event_problem_text(ENOENT, 1).find("virtual machine"), std::string::npos);
  EXPECT_NE(event_problem_text(ENOSYS, std::nullopt).find("no perf_event"), std::string::npos);
  EXPECT_NE(event_problem_text(EBUSY, 1).find("perf_event_open fails"), std::string::npos);
}

}  // namespace
}  // namespace strata::cpu
