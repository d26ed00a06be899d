// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/trace_tables.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

/// An H200's multiprocessor: 64 warps, 64 K registers, 228 KB of shared memory, 32 blocks.
RecordedDevice hopper() {
  RecordedDevice device;
  device.compute_major = 9;
  device.warp_size = 32;
  device.max_threads_per_multiprocessor = 2048;
  device.registers_per_multiprocessor = 65536;
  device.shared_bytes_per_multiprocessor = 228 << 10;
  return device;
}

KernelRecord launch(std::uint32_t threads, std::uint32_t registers, std::uint32_t shared) {
  KernelRecord kernel;
  kernel.block = {threads, 1, 1};
  kernel.registers = registers;
  kernel.static_shared_bytes = 0;
  kernel.dynamic_shared_bytes = shared;
  return kernel;
}

void expect_occupancy(const KernelRecord& kernel, const RecordedDevice& device, double share,
                      OccupancyLimit limit) {
  const std::optional<Occupancy> found = occupancy_of(kernel, device);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->share, share);
  EXPECT_EQ(name_of(found->limit), name_of(limit));
}

// Counted by hand from NVIDIA's table of technical specifications.
TEST(Occupancy, IsWhatTheScarcestResourceAllows) {
  expect_occupancy(launch(256, 32, 0), hopper(), 1, OccupancyLimit::none);
  // 168 registers × 32 = 5376 per warp: 12 warps fit, 3 blocks of 4 of 64 warps.
  expect_occupancy(launch(128, 168, 0), hopper(), 12.0 / 64, OccupancyLimit::registers);
  // 100 KB and 1 KB of the system's: 2 blocks of 8 warps.
  expect_occupancy(launch(256, 32, 100 << 10), hopper(), 16.0 / 64, OccupancyLimit::shared_memory);
  // 32 blocks of one warp.
  expect_occupancy(launch(32, 32, 0), hopper(), 0.5, OccupancyLimit::block_size);
  // Turing holds 16 blocks and takes nothing of the shared memory for itself.
  RecordedDevice turing = hopper();
  turing.compute_major = 7;
  turing.compute_minor = 5;
  turing.max_threads_per_multiprocessor = 1024;
  turing.shared_bytes_per_multiprocessor = 64 << 10;
  expect_occupancy(launch(32, 32, 0), turing, 0.5, OccupancyLimit::block_size);
  expect_occupancy(launch(256, 32, 32 << 10), turing, 0.5, OccupancyLimit::shared_memory);
}

TEST(Occupancy, IsNotKnownWithoutTheLaunchOrTheDevice) {
  EXPECT_FALSE(occupancy_of(launch(0, 32, 0), hopper()));
  EXPECT_FALSE(occupancy_of(launch(256, 32, 0), RecordedDevice{}));
  RecordedDevice amd = hopper();
  amd.warp_size = 64;
  EXPECT_FALSE(occupancy_of(launch(256, 32, 0), amd));
}

TEST(LaunchedCount, is_the_product_of_what_was_written_or_nothing) {
  EXPECT_EQ(launched_count({7, 3, 2}), 42);
  EXPECT_EQ(launched_count({7, 0, 0}), 7);
  EXPECT_EQ(launched_count({0, 3, 2}), std::nullopt);
  constexpr std::uint32_t most = 0xffffffffU;
  EXPECT_EQ(launched_count({most, 2, 1}), 2 * std::int64_t{most});
  EXPECT_EQ(launched_count({most, most, 1}), std::nullopt);  // as a fuzz target found
  EXPECT_EQ(launched_count({most, most, most}), std::nullopt);
}

}  // namespace
}  // namespace strata
