// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/occupancy.hpp"

#include <algorithm>
#include <array>

namespace strata {
namespace {

constexpr std::array<std::string_view, 5> limit_names = {"unknown", "none", "registers",
                                                         "shared memory", "block size"};
constexpr std::int64_t threads_of_a_warp = 32;
constexpr std::int64_t most_threads_per_block = 1024;
constexpr std::int64_t registers_at_a_time = 256;    // that a warp takes
constexpr std::int64_t most_registers = 1024;        // per thread: more than any architecture has
constexpr std::int64_t shared_of_the_system = 1024;  // per block, from compute capability 8

/// The most blocks that a multiprocessor holds, by compute capability (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability").
std::int64_t most_blocks(const MultiprocessorLimits& limits) {
  const int capability = 10 * limits.compute_major + limits.compute_minor;
  if (capability == 75 || capability == 86 || capability == 87) return 16;
  if (capability == 89) return 24;
  return 32;
}

std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

std::string_view name_of(OccupancyLimit limit) {
  return limit_names[static_cast<std::size_t>(limit)];
}

std::optional<Occupancy> occupancy_of(const LaunchShape& launch,
                                      const MultiprocessorLimits& limits) {
  if (launch.threads_per_block <= 0 || launch.threads_per_block > most_threads_per_block ||
      limits.threads < threads_of_a_warp) {
    return std::nullopt;
  }
  const std::int64_t warps =
      rounded_up(launch.threads_per_block, threads_of_a_warp) / threads_of_a_warp;
  const std::int64_t most_warps = limits.threads / threads_of_a_warp;
  std::int64_t blocks = std::min(most_blocks(limits), most_warps / warps);
  OccupancyLimit limit = OccupancyLimit::block_size;
  if (limits.registers > 0 && launch.registers_per_thread > 0) {
    const std::int64_t per_warp =
        rounded_up(std::min(launch.registers_per_thread, most_registers) * threads_of_a_warp,
                   registers_at_a_time);
    const std::int64_t fit = limits.registers / per_warp / warps;
    if (fit < blocks) {
      blocks = fit;
      limit = OccupancyLimit::registers;
    }
  }
  const std::int64_t shared = launch.shared_bytes_per_block.value_or(0);
  if (limits.shared_bytes > 0 && shared > 0) {
    const std::int64_t system = limits.compute_major >= 8 ? shared_of_the_system : 0;
    const std::int64_t fit =
        shared > limits.shared_bytes ? 0 : limits.shared_bytes / (shared + system);
    if (fit < blocks) {
      blocks = fit;
      limit = OccupancyLimit::shared_memory;
    }
  }
  const double share =
      static_cast<double>(std::min(blocks * warps, most_warps)) / static_cast<double>(most_warps);
  return Occupancy{share, share >= 1 ? OccupancyLimit::none : limit};
}

}  // namespace strata
