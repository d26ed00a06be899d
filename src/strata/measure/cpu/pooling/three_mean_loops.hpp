// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Loops of average pooling over windows of 3 × 3 with stride 1, as a table of functions, for
/// vector units with short vectors.
namespace strata::cpu_training {

/// Sums over windows of 3 × 3 with stride 1: output o of a row looks at the columns from o − pad on
/// of three rows of `width` numbers, where columns outside are 0.
struct SumOfThrees {
  const float* rows[3] = {};
  std::int64_t width = 0, pad = 0, outputs = 0;
  const float* factors = nullptr;  // of columns, if they are scaled first, else of outputs
  bool scales_first = false;
};

/// The same where a row has as many outputs as columns: rows follow each other on both sides, and
/// are one long row, of at least `again` columns each. Sums of columns are multiplied by numbers
/// that depend on the output's column, what lies in another row by 0. Those numbers are of each
/// column, and of the first `again` once more behind the last.
struct SumOfLongRows {
  const float *above = nullptr, *row = nullptr, *below = nullptr;
  const float *of_left = nullptr, *of_middle = nullptr, *of_right = nullptr;
  std::int64_t width = 0;
  bool comes_from_memory = true;

  static constexpr std::int64_t again = 16;
};

struct ThreeMeanLoops {
  /// Loops may read so many numbers behind the last window's first.
  static constexpr std::int64_t read_behind = 8;

  /// `rows` rows of outputs, of which each is made of the next of each of the three rows. Reads up
  /// to `read_behind` behind rows and factors.
  void (*sum_of_threes)(const SumOfThrees& of, float* y, std::int64_t rows);
  /// So many outputs of whole rows; writes some behind them, where that is allowed. Says whether
  /// they are right: not where something is not finite. Reads up to `read_behind_long` behind rows.
  bool (*sum_of_long_rows)(const SumOfLongRows& of, float* y, std::int64_t count,
                           bool writes_behind);
  static constexpr std::int64_t read_behind_long = 32;
};

/// Null where vectors are longer, or there are none.
const ThreeMeanLoops* three_mean_loops();

}  // namespace strata::cpu_training
