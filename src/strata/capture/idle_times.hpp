// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/intervals.hpp"
#include "strata/capture/kernel_origins.hpp"
#include "strata/capture/trace_tables.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

/// Why no kernel ran, and what the host took to launch the kernels: docs/recordings.md.
namespace strata {

/// The gaps between some kernels.
struct IdleTally {
  TimeSpan span = {};  ///< from the first start to the last end
  std::int64_t gaps = 0;
  std::int64_t longest_gap_ns = 0;
  std::array<std::int64_t, idle_causes> idle_ns = {};  ///< by cause; adds up to the gaps
};

/// Refers to both of what it is made of.
class IdleTimes {
 public:
  IdleTimes(const Recording& recording, const KernelOrigins& origins);

  /// `kernels` are by start; `moves` are the copies and fills beside them.
  IdleTally between(std::span<const std::size_t> kernels, const Coverage& moves) const;

  /// From the first launch of these kernels to the end of the last, without what the launching
  /// threads waited for the device in between: for a result, or for room in the full queue. Nothing
  /// where a launch is not recorded.
  std::optional<std::int64_t> host_ns(std::span<const std::size_t> kernels) const;

 private:
  void add_gap(TimeSpan gap, std::size_t next_kernel, const Coverage& moves,
               IdleTally& tally) const;

  const Recording& recording_;
  const KernelOrigins& origins_;
  std::map<std::uint32_t, Coverage> waits_;   ///< for the device, by thread
  std::map<std::uint32_t, Coverage> inputs_;  ///< for a batch of data, by thread
};

}  // namespace strata
