// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace strata {

/// Something on a row of a timeline, or several neighbours taken together.
struct TimeSlice {
  double start_s = 0;
  double end_s = 0;
  std::int64_t bytes = 0;
  std::int64_t name = 0;               ///< number of what it is
  std::int64_t other = 0;              ///< number of what it belongs to
  std::int64_t count = 1;              ///< how many it stands for
  std::optional<double> busy_s = {};   ///< of its span, in which something is there; else all
  std::optional<double> longest = {};  ///< time of the one whose name it has

  double busy() const { return busy_s.value_or(end_s - start_s); }
};

/// What becomes of the bytes of slices that are taken together.
enum class Together : std::uint8_t { sum, largest };

/// Merges slices to at most `most`. The time from 0 to end_s is cut into `most` equal parts; slices
/// that begin in the same part become one, with the name of the longest. Their times, bytes and
/// counts are added. The slices must be in the order of their beginnings.
std::vector<TimeSlice> taken_together(std::vector<TimeSlice> slices, double end_s, std::size_t most,
                                      Together bytes = Together::sum);

}  // namespace strata
