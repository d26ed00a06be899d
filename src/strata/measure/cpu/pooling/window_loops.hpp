// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Loops of pooling over windows of 3 × 3 with stride 1 or 2, as a table of functions: rows are
/// reduced along themselves once, whatever the number of windows that they belong to, and stay in
/// registers until the windows are complete. And of maxima of 2 × 2, side by side.
namespace strata::cpu_training {

/// Where rows of a plane are held, in memory that stays in the first cache: numbers from `left` on
/// with what lies outside around them. With stride 2 the even places come first, and the odd ones
/// `odd_at` behind them, so that neighbouring windows lie side by side.
struct HeldRows {
  std::int64_t stride = 1, left = 0, width = 0;
  std::int64_t odd_at = 0, pitch = 0;
};

/// Loops may read and write so many numbers behind what they are asked for.
inline constexpr std::int64_t room_behind_held = 48;

/// A row of outputs' gradients and which tap each maximum was.
struct TapsRow {
  const float* gradients = nullptr;
  const std::int32_t* which = nullptr;
};

/// Rows of dx from `count` rows of outputs that follow each other: `stride` rows of dx are complete
/// with each of them, of which the first `first` are not wanted, nor those behind the next `rows`.
struct SpreadRows {
  std::int64_t stride = 1, pad = 0;  // along a row
  std::int64_t count = 0, first = 0, rows = 0, width = 0;
};

struct WindowLoops {
  /// Holds `rows` rows of the plane x, from `room` on; says whether any is not a number. Nothing
  /// is read from `end` on.
  bool (*hold)(const HeldRows& held, const float* x, const float* end, std::int64_t rows,
               float outside, float* room);
  /// The same for one row with stride 1, times share · shares[i].
  void (*hold_shares)(const float* x, const float* shares, float share, float* room,
                      std::int64_t count);
  /// Gradients as they are, and their taps as whole numbers.
  void (*hold_taps)(const float* dy, const std::uint8_t* taps, float* gradients,
                    std::int32_t* which, std::int64_t count);
  /// The largest of each window and which tap it is (null: not wanted), of equals the first; what
  /// is not a number counts as larger than all, as in PyTorch; where all are −∞, it is the first
  /// that lies inside: defaults[i] along a row, and the second row if the first lies above.
  /// Window i looks at rows[i · stride] and the next two; when the first lies above the plane,
  /// rows[0] is the same as rows[1].
  void (*largest)(const HeldRows& held, const float* const* rows, std::int64_t row_count,
                  const std::int32_t* defaults, bool is_first_above, bool has_no_number,
                  float* most, std::uint8_t* which, std::int64_t width);
  /// The same of windows of 2 × 2 that lie side by side, all inside, for `rows` rows of `count`.
  void (*largest_of_pairs)(const float* x, float* most, std::uint8_t* which, std::int64_t count,
                           std::int64_t rows);
  /// The way back: two rows of dx for each of dy.
  void (*spread_pairs)(const float* dy, const std::uint8_t* which, float* dx, std::int64_t count,
                       std::int64_t rows);
  /// y = row_shares[row] · shares[i] · the sum of each window; without shares the sum alone
  void (*sum)(const HeldRows& held, const float* const* rows, std::int64_t row_count,
              const float* row_shares, const float* shares, float* y, std::int64_t width);
  /// Number x of a row of dx gets tap k of output o where o · stride + k − pad = x.
  void (*spread)(const TapsRow* rows, const SpreadRows& shape, float* dx);
};

/// Null in a build without vector code.
const WindowLoops* window_loops();

}  // namespace strata::cpu_training
