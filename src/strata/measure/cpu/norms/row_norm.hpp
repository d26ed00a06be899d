// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <algorithm>
#include <cstdint>

/// What both ways of layer, RMS and group norms share.
namespace strata::cpu_training {

/// Rows of numbers that share statistics, side by side in memory. Scale and shift of a row begin at
/// (row mod groups) · entries and hold for `repeats` neighbours each: 1 for layer norm, the space
/// of a channel for group norm.
struct RowNorm {
  std::int64_t rows = 0, length = 0;
  std::int64_t groups = 1, entries = 0, repeats = 1;
  bool takes_mean = true;
  bool has_scale = false, has_shift = false;
  double epsilon = 0;
  bool is_beyond = false;  // the result is larger than the caches

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  std::int64_t parameters() const { return groups * entries; }
  std::int64_t least() const { return std::max<std::int64_t>(1, numbers_per_part / length); }
};

/// Whether the statistics of a row are taken in the loop that writes the row before it. Where
/// results go around the caches they need not: what is asked for meanwhile is there when the row is
/// done.
template <class T>
bool takes_next_in_loop(const RowNorm& norm) {
  return !norm.is_beyond || stream_of<T>() == nullptr;
}

}  // namespace strata::cpu_training
