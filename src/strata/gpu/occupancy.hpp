// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// How many warps of a kernel a multiprocessor of NVIDIA can hold, and what keeps it from more.
namespace strata {

/// How a kernel was launched, and what its code takes. 0 where it is not known.
struct LaunchShape {
  std::int64_t blocks = 0;
  std::int64_t threads_per_block = 0;
  std::int64_t registers_per_thread = 0;
  std::optional<std::int64_t> shared_bytes_per_block = {};

  bool operator==(const LaunchShape&) const = default;
};

/// What a multiprocessor holds. 0 where it is not known.
struct MultiprocessorLimits {
  int compute_major = 0;
  int compute_minor = 0;
  std::int64_t threads = 0;
  std::int64_t registers = 0;
  std::int64_t shared_bytes = 0;

  bool operator==(const MultiprocessorLimits&) const = default;
};

/// What keeps a kernel from filling a multiprocessor with warps.
enum class OccupancyLimit : std::uint8_t { unknown, none, registers, shared_memory, block_size };
std::string_view name_of(OccupancyLimit limit);

struct Occupancy {
  double share = 0;  ///< of the warps that a multiprocessor can hold
  OccupancyLimit limit = OccupancyLimit::unknown;
};

/// Nothing where the threads of the launch or of the multiprocessor are not known.
std::optional<Occupancy> occupancy_of(const LaunchShape& launch,
                                      const MultiprocessorLimits& limits);

}  // namespace strata
