// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/rank_stream.hpp"
#include "strata/sweep/sweep_program.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// What a framework is expected to take at a point.
struct PointExpected {
  double time_s = 0, low_s = 0, high_s = 0;  ///< nine of ten iterations lie between the last two
  std::int64_t memory_bytes = 0;             ///< at its peak, as the framework's allocator counts
  double device_bytes = 0;                   ///< that the machine has; 0: it does not say

  bool is_there() const { return time_s > 0; }
  bool is_out_of_memory() const {
    return is_there() && device_bytes > 0 && static_cast<double>(memory_bytes) > device_bytes;
  }
  bool operator==(const PointExpected&) const = default;
};

/// What a strategy over many devices comes to beside its expected time.
struct PointParallel {
  double tokens_per_s = 0;                                  ///< 0: the network has no sequences
  double mfu = 0;                                           ///< 0: no peak is known
  std::array<double, rank_time_parts.size()> parts_s = {};  ///< as rank_time_names has them

  bool operator==(const PointParallel&) const = default;
};

/// What a point came to. Which values of the axes it has follows from its number.
struct PointResult {
  PointTotals totals;
  Hardware hardware;                 ///< what the machine and the axes come to
  std::int64_t samples = 0;          ///< that one iteration trains
  std::int64_t footprint_bytes = 0;  ///< of the off-chip memory
  std::string error;                 ///< why there is no result; empty: there is one
  bool is_left_out = false;          ///< a constraint excludes it: it stands nowhere
  PointExpected expected = {};       ///< is_there(): the machine and the framework allow one
  bool has_limit = true;             ///< false: nobody asked for totals and footprint
  PointParallel parallel = {};       ///< of a sweep over many devices
  std::string strategy = {};         ///< of the same: "dp=2,tp=4,pp=1,micro=1"
};

/// It was excluded before anything was computed: there is nothing to lose.
inline bool costs_nothing(const PointResult& result) {
  return result.is_left_out && result.samples == 0 && result.error.empty();
}

/// Results as bytes, for other processes of the same program.
std::size_t packed_bytes();  ///< of a result without an error
std::string packed(std::span<const PointResult> results);
std::vector<PointResult> unpacked(std::string_view bytes);
/// Of a file, which anybody may have written: nothing unless the bytes are one result.
std::optional<PointResult> unpacked_one(std::string_view bytes);

}  // namespace strata
