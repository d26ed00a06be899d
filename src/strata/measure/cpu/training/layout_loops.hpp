// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Loops that move numbers about or repeat them, as a table of functions.
namespace strata::cpu_training {

struct LayoutLoops {
  /// first[i] = x[2 i], second[i] = x[2 i + 1]
  void (*split_pairs)(const float* x, float* first, float* second, std::int64_t count);
  /// y[2 i] = first[i], y[2 i + 1] = second[i]
  void (*join_pairs)(const float* first, const float* second, float* y, std::int64_t count);
  /// y[2 i] = y[2 i + 1] = factor · x[i]
  void (*twice)(const float* x, float factor, float* y, std::int64_t count);
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
