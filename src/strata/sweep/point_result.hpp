// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/sweep_program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// What a point came to. Which values of the axes it has follows from its number.
struct PointResult {
  PointTotals totals;
  Hardware hardware;                 ///< what the machine and the axes come to
  std::int64_t samples = 0;          ///< that one iteration trains
  std::int64_t footprint_bytes = 0;  ///< of the off-chip memory
  std::string error;                 ///< why there is no result; empty: there is one
  bool is_left_out = false;          ///< a constraint excludes it: it stands nowhere
};

/// It was excluded before anything was computed: there is nothing to lose.
inline bool costs_nothing(const PointResult& result) {
  return result.is_left_out && result.samples == 0 && result.error.empty();
}

/// Results as bytes, for other processes of the same program.
std::size_t packed_bytes();  ///< of a result without an error
std::string packed(std::span<const PointResult> results);
std::vector<PointResult> unpacked(std::string_view bytes);

}  // namespace strata
