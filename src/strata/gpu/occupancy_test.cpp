// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/occupancy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace strata {
namespace {

/// An H200's: 64 warps, 64 K registers, 228 KB of shared memory.
constexpr MultiprocessorLimits h200{
    .compute_major = 9, .threads = 2048, .registers = 65536, .shared_bytes = 228 << 10};

// 255 registers × 32 threads are 8160, taken as 8192: 8 warps fit, so one block of 8.
TEST(LaunchOccupancy, is_limited_by_what_runs_out_first) {
  const auto found = occupancy_of({.threads_per_block = 256, .registers_per_thread = 255}, h200);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->share, 8.0 / 64);
  EXPECT_EQ(found->limit, OccupancyLimit::registers);
  EXPECT_EQ(name_of(found->limit), "registers");
}

TEST(LaunchOccupancy, odd_numbers_of_a_recording_are_no_trouble) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(occupancy_of({}, h200));
  EXPECT_FALSE(occupancy_of({.threads_per_block = huge}, h200));
  EXPECT_FALSE(occupancy_of({.threads_per_block = 32}, {}));
  const auto too_much = occupancy_of(
      {.threads_per_block = 32, .registers_per_thread = huge, .shared_bytes_per_block = huge},
      h200);
  ASSERT_TRUE(too_much);
  EXPECT_DOUBLE_EQ(too_much->share, 0);
  EXPECT_EQ(too_much->limit, OccupancyLimit::shared_memory);
}

}  // namespace
}  // namespace strata
