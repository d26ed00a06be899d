// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/line_fit.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

std::vector<TransferTime> times_of(double latency_s, double bytes_per_s, double noise) {
  std::vector<TransferTime> times;
  double sign = noise;
  for (double bytes = 4096; bytes <= 1 << 30; bytes *= 4) {
    times.push_back({bytes, (latency_s + bytes / bytes_per_s) * (1 + sign)});
    sign = -sign;
  }
  return times;
}

TEST(LineFit, finds_latency_and_bandwidth_over_six_orders_of_magnitude) {
  const auto cost = fit_transfers(times_of(4.3e-6, 55e9, 0));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->latency_s, 4.3e-6, 1e-12);
  EXPECT_NEAR(cost->bytes_per_s, 55e9, 1e3);
}

TEST(LineFit, noise_of_a_percent_moves_the_answer_by_about_a_percent) {
  const auto cost = fit_transfers(times_of(4.3e-6, 55e9, 0.01));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->latency_s, 4.3e-6, 0.02 * 4.3e-6);
  EXPECT_NEAR(cost->bytes_per_s, 55e9, 0.02 * 55e9);
}

TEST(LineFit, a_latency_is_never_below_zero) {
  const std::vector<TransferTime> times = {{1e6, 0.5e-3}, {2e6, 3e-3}};
  const auto cost = fit_transfers(times);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->latency_s, 0.5e-3);
}

TEST(LineFit, refuses_what_has_no_slope) {
  EXPECT_FALSE(fit_transfers({}));
  const std::vector<TransferTime> one = {{4096, 1e-6}};
  EXPECT_FALSE(fit_transfers(one));
  const std::vector<TransferTime> same = {{4096, 1e-6}, {4096, 2e-6}};
  EXPECT_FALSE(fit_transfers(same));
  const std::vector<TransferTime> falling = {{4096, 2e-6}, {8192, 1e-6}};
  EXPECT_FALSE(fit_transfers(falling));
  const std::vector<TransferTime> zero = {{4096, 0}, {8192, 1e-6}};
  EXPECT_FALSE(fit_transfers(zero));
}

}  // namespace
}  // namespace strata
