// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/trace_tables.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr std::array<std::string_view, 5> limit_names = {"unknown", "none", "registers",
                                                         "shared memory", "block size"};
constexpr std::int64_t registers_at_a_time = 256;    // that a warp takes
constexpr std::int64_t shared_of_the_system = 1024;  // per block, from compute capability 8

/// The most blocks that a multiprocessor holds, by compute capability (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability").
std::int64_t most_blocks(const RecordedDevice& device) {
  const int capability = 10 * device.compute_major + device.compute_minor;
  if (capability == 75 || capability == 86 || capability == 87) return 16;
  if (capability == 89) return 24;
  return 32;
}

}  // namespace

std::string_view name_of(OccupancyLimit limit) {
  return limit_names[static_cast<std::size_t>(limit)];
}

const RecordedDevice* device_of(const ProcessInfo& process, std::uint32_t device) {
  for (const RecordedDevice& info : process.devices) {
    if (info.id == device) return &info;
  }
  return nullptr;
}

std::optional<Occupancy> occupancy_of(const KernelRecord& kernel, const RecordedDevice& device) {
  const std::uint64_t threads =
      std::uint64_t{kernel.block[0]} * kernel.block[1] * std::max(1U, kernel.block[2]);
  // AMD counts other resources, which traces do not carry.
  if (threads == 0 || threads > 1024 || device.warp_size != 32 ||
      device.max_threads_per_multiprocessor < 32) {
    return std::nullopt;
  }
  const std::int64_t warps = (static_cast<std::int64_t>(threads) + 31) / 32;
  const std::int64_t most_warps = device.max_threads_per_multiprocessor / 32;
  std::int64_t blocks = most_blocks(device);
  OccupancyLimit limit = OccupancyLimit::block_size;
  if (most_warps / warps < blocks) blocks = most_warps / warps;
  if (device.registers_per_multiprocessor > 0 && kernel.registers != unknown_count &&
      kernel.registers > 0) {
    const std::int64_t per_warp = (std::int64_t{kernel.registers} * 32 + registers_at_a_time - 1) /
                                  registers_at_a_time * registers_at_a_time;
    const std::int64_t fit = device.registers_per_multiprocessor / per_warp / warps;
    if (fit < blocks) {
      blocks = fit;
      limit = OccupancyLimit::registers;
    }
  }
  if (device.shared_bytes_per_multiprocessor > 0 && kernel.dynamic_shared_bytes != unknown_count) {
    const std::int64_t statically =
        kernel.static_shared_bytes == unknown_count ? 0 : kernel.static_shared_bytes;
    const std::int64_t own = kernel.dynamic_shared_bytes + statically;
    const std::int64_t bytes = own + (device.compute_major >= 8 ? shared_of_the_system : 0);
    const std::int64_t fit = bytes == 0 ? blocks : device.shared_bytes_per_multiprocessor / bytes;
    if (own > 0 && fit < blocks) {
      blocks = fit;
      limit = OccupancyLimit::shared_memory;
    }
  }
  const double share =
      static_cast<double>(std::min(blocks * warps, most_warps)) / static_cast<double>(most_warps);
  return Occupancy{share, share >= 1 ? OccupancyLimit::none : limit};
}

}  // namespace strata
