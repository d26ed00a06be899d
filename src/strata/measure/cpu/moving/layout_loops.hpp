// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Loops that move numbers about or repeat them, as a table of functions. Those that take rows are
/// for rows that lie side by side: where results go through the caches, a loop that keeps its
/// places in registers from row to row is faster than one call for each.
namespace strata::cpu_training {

struct LayoutLoops {
  /// first[i] = x[2 i], second[i] = x[2 i + 1]
  void (*split_pairs)(const float* x, float* first, float* second, std::int64_t count);
  /// y[2 i] = first[i], y[2 i + 1] = second[i]
  void (*join_pairs)(const float* first, const float* second, float* y, std::int64_t count);
  /// Pairs of rows of pairs become a row in each of four planes, or back.
  void (*split_rows)(const float* x, float* const* planes, std::int64_t count, std::int64_t rows);
  void (*join_rows)(const float* const* planes, float* y, std::int64_t count, std::int64_t rows);
  /// y[2 i] = y[2 i + 1] = factor · x[i]
  void (*twice)(const float* x, float factor, float* y, std::int64_t count);
  /// The same of rows, each of which is written two times.
  void (*twice_rows)(const float* x, float factor, float* y, std::int64_t count, std::int64_t rows);
  /// y[i] = factor · (a[2 i] + a[2 i + 1] + b[2 i] + b[2 i + 1]), where a and b are two rows of x;
  /// for `rows` rows of y, each of `count`.
  void (*add_pairs)(const float* x, float factor, float* y, std::int64_t count, std::int64_t rows);
  // Linear interpolation: along rows, which divides by 16 once for both axes, and across them.
  /// 16 y[2 i] = x[i - 1] + 3 x[i], 16 y[2 i + 1] = 3 x[i] + x[i + 1]; the first and the last
  /// number are repeated outside
  void (*widen)(const float* x, float* y, std::int64_t count);
  void (*widen_rows)(const float* x, float* y, std::int64_t count, std::int64_t rows);
  /// The way back: 16 y[i] = 3 (x[2 i] + x[2 i + 1]) + x[2 i - 1] + x[2 i + 2]
  void (*narrow)(const float* x, float* y, std::int64_t count);
  /// y = 3 near + far
  void (*mix)(const float* near, const float* far, float* y, std::int64_t count);
  /// y = 3 (near[0] + near[1]) + far[0] + far[1]
  void (*mix_pairs)(const float* const* near, const float* const* far, float* y,
                    std::int64_t count);
  /// Two rows of y from each of x, which is near to both, and from the one above or below it: x
  /// begins with a row that is above only.
  void (*mix_rows)(const float* x, float* y, std::int64_t count, std::int64_t rows);
  /// The way back along rows and across them at once: a row of y from two of x, which are near, and
  /// from the one above and the one below them. For several rows of y, each time from those two
  /// rows further on. Null where results go around the caches.
  void (*narrow_row_pairs)(const float* const* x, float* y, std::int64_t count, std::int64_t rows);
  /// y[r] = factor · the sum of row r; rows lie side by side
  void (*sums_of_rows)(const float* x, std::int64_t width, float factor, float* y,
                       std::int64_t rows, const float* end);
  /// Every number of row r = factor · x[r]
  void (*rows_of_same)(const float* x, std::int64_t width, float factor, float* y,
                       std::int64_t rows);
};

/// Null in a build without vector code.
const LayoutLoops* layout_loops();

}  // namespace strata::cpu_training
