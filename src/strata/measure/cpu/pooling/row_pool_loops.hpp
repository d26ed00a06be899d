// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Loops of pooling over windows of two or three numbers each way, row by row, as a table of
/// functions. For vector units with short vectors and many pipes: nothing is held in another order
/// first, results are written in the order of memory, and which tap a maximum is comes from
/// counting comparisons, sixteen bytes at a time.
namespace strata::cpu_training {

/// Windows along a row: output i looks at x[i · stride] and the next `taps` − 1.
struct RowWindows {
  std::int64_t taps = 3, stride = 1;
};

/// The largest of each window of a row by itself, and 0 minus how many taps come before it.
struct LargestOfRow {
  float* most = nullptr;
  std::uint8_t* before = nullptr;
};

/// A row that windows hold, and the number of its first tap in them.
struct RowOfWindows {
  LargestOfRow row;
  std::uint8_t first_tap = 0;
};

struct RowPoolLoops {
  /// Fewer outputs than this, and a row is not worth it; loops expect as many.
  static constexpr std::int64_t shortest = 4;
  /// Loops may read so many numbers behind the last window's first.
  static constexpr std::int64_t read_behind = 8;

  /// Of equals the first; what is not a number may make any tap. For several rows at once: a call
  /// for each would keep the places of the next in memory.
  void (*largest_along)(const float* x, std::int64_t x_row, const RowWindows& windows,
                        const LargestOfRow& to, std::int64_t to_row, std::int64_t count,
                        std::int64_t rows);
  /// The same for one window of each row, of which two taps from `first_tap` on are inside: x[0]
  /// and x[1] of the first row.
  void (*larger_of_two)(const float* x, std::int64_t x_row, std::uint8_t first_tap,
                        const LargestOfRow& to, std::int64_t to_row, std::int64_t rows);
  /// The largest of `row_count` (one to three) rows and which tap it is (null: not wanted). Says
  /// whether any is not a number: their taps are wrong, then. So many times, each time from rows
  /// `step` numbers further on.
  bool (*largest_of)(const RowOfWindows* rows, std::int64_t row_count, float* most,
                     std::uint8_t* which, std::int64_t count, std::int64_t step,
                     std::int64_t times);
  void (*sum_along)(const float* x, std::int64_t x_row, const RowWindows& windows, float* sums,
                    std::int64_t sums_row, std::int64_t count, std::int64_t rows);
  /// y = share · shares[i] · the sum of `row_count` (one to three) rows; without shares the sum.
  /// So many times, as above.
  void (*sum_of)(const float* const* rows, std::int64_t row_count, float share, const float* shares,
                 float* y, std::int64_t count, std::int64_t step, std::int64_t times);
  /// Windows of 2 × 2 with stride 2, of `rows` rows of `count` outputs: the largest of each and
  /// which tap it is (null: not wanted). Says whether any is not a number: its tap is wrong, then.
  bool (*largest_of_pairs)(const float* x, std::int64_t x_row, float* most, std::uint8_t* which,
                           std::int64_t count, std::int64_t rows);
  /// The same for factor · their sum, where nothing lies between rows.
  void (*sum_of_pairs)(const float* x, float factor, float* y, std::int64_t count,
                       std::int64_t rows);
};

/// Null where vectors are longer, or there are none.
const RowPoolLoops* row_pool_loops();

}  // namespace strata::cpu_training
