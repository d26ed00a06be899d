// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/threads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace strata::cpu {
namespace {

// As many as there are CPUs, which wait awake, and more; with work at once, and after they have
// fallen asleep.
TEST(Threads, take_every_index_once) {
  for (const int count : {1, allowed_cpus(), allowed_cpus() + 3}) {
    Threads threads(count);
    EXPECT_EQ(threads.count(), count);
    for (const int pause_ms : {0, 0, 5, 0}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      for (const std::int64_t indices : {0, 1, 2, 1000}) {
        std::vector<std::atomic<int>> taken(static_cast<std::size_t>(indices));
        threads.for_each(indices, [&](std::int64_t index, int thread) {
          ASSERT_LT(thread, count);
          ++taken[static_cast<std::size_t>(index)];
        });
        for (const std::atomic<int>& times : taken) ASSERT_EQ(times, 1);
      }
    }
  }
}

TEST(Threads, come_to_the_end_of_many_short_rounds) {
  Threads threads(allowed_cpus() + 1);
  std::atomic<std::int64_t> sum = 0;
  for (int round = 0; round < 20'000; ++round) {
    threads.for_each(4, [&](std::int64_t index, int) { sum += index; });
  }
  EXPECT_EQ(sum, 20'000 * 6);
}

TEST(Threads, throw_the_first_exception_again_and_go_on) {
  Threads threads(3);
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(threads.for_each(50,
                                  [](std::int64_t index, int) {
                                    if (index == 7) throw std::runtime_error("seven");
                                  }),
                 std::runtime_error);
    std::atomic<int> calls = 0;
    threads.for_each(50, [&](std::int64_t, int) { ++calls; });
    EXPECT_EQ(calls, 50);
  }
}

}  // namespace
}  // namespace strata::cpu
