// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/trace_tables.hpp"

#include <algorithm>

namespace strata {

const RecordedDevice* device_of(const ProcessInfo& process, std::uint32_t device) {
  for (const RecordedDevice& info : process.devices) {
    if (info.id == device) return &info;
  }
  return nullptr;
}

std::optional<Occupancy> occupancy_of(const KernelRecord& kernel, const RecordedDevice& device) {
  constexpr int warp_of_nvidia = 32;  // AMD counts other resources, which traces do not carry
  if (device.warp_size != warp_of_nvidia) return std::nullopt;
  const auto number = [](std::uint32_t value) -> std::int64_t {
    return value == unknown_count ? 0 : value;
  };
  LaunchShape launch;
  launch.threads_per_block = launched_count(kernel.block).value_or(0);
  launch.registers_per_thread = number(kernel.registers);
  if (kernel.dynamic_shared_bytes != unknown_count)
    launch.shared_bytes_per_block =
        number(kernel.dynamic_shared_bytes) + number(kernel.static_shared_bytes);
  return occupancy_of(launch, {.compute_major = device.compute_major,
                               .compute_minor = device.compute_minor,
                               .threads = device.max_threads_per_multiprocessor,
                               .registers = device.registers_per_multiprocessor,
                               .shared_bytes = device.shared_bytes_per_multiprocessor});
}

}  // namespace strata
