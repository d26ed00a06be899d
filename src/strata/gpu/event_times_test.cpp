// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/event_times.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

// As CUDA does it, in milliseconds of single precision.
TEST(EventTimes, keep_microseconds_after_a_minute) {
  std::vector<double> truth = {0, 60};
  for (int i = 0; i < 100; ++i) truth.push_back(truth.back() + 3.7e-6);
  const auto seconds_between = [&](std::size_t from, std::size_t to) {
    return 1e-3 * static_cast<double>(static_cast<float>(1e3 * (truth[to] - truth[from])));
  };
  const std::vector<double> times = times_of_events(truth.size(), seconds_between);
  ASSERT_EQ(times.size(), truth.size());
  EXPECT_EQ(times[0], 0);
  for (std::size_t i = 2; i < truth.size(); ++i)
    EXPECT_NEAR(times[i] - times[i - 1], 3.7e-6, 1e-9) << i;
}

TEST(EventTimes, of_one_event_and_none) {
  const auto never = [](std::size_t, std::size_t) { return 1.0; };
  EXPECT_TRUE(times_of_events(0, never).empty());
  EXPECT_EQ(times_of_events(1, never), std::vector<double>{0});
}

}  // namespace
}  // namespace strata
