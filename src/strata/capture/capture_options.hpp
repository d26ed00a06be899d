// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What the program `strata capture` tells the library inside the program that it watches, through
/// one variable of the environment. Used on both sides; no package is needed for it.
namespace strata {

inline constexpr const char* capture_variable = "STRATA_CAPTURE";

struct CaptureOptions {
  std::string log;                  ///< pattern of the log's path (LogWriter)
  double duration_s = 0;            ///< of recording, from its beginning; 0: no end
  bool ends_program = false;        ///< when the duration or the steps are over
  bool waits_for_profiler = false;  ///< records between cudaProfilerStart and cudaProfilerStop
  std::string range;                ///< records inside NVTX ranges of this name; empty: everywhere
  std::int64_t skip = 0;            ///< ranges of that name that are passed over first
  std::int64_t steps = 0;           ///< ranges of that name that are recorded; 0: all
  std::uint64_t most_waiting_bytes = std::uint64_t{256} << 20;  ///< of buffers lent to CUPTI
  bool traces_calls = true;                                     ///< runtime and driver API
  bool may_drop_calls = false;       ///< where they are many: kernels only from then on
  bool traces_memory = true;         ///< allocations
  std::vector<std::string> metrics;  ///< counted, kernel by kernel, instead of times; empty: times
  bool operator==(const CaptureOptions&) const = default;
};

/// One "key=value" per line; a newline in a value becomes a space.
std::string to_variable(const CaptureOptions& options);

/// Keys that are not known are passed over. False: a number is none, and `options` is not to be
/// used.
bool read_variable(std::string_view text, CaptureOptions& options);

}  // namespace strata
