// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The way back through max pooling over small windows, as a table of functions: each number of dx
/// is written once, in the order of memory, from the gradients of the windows that it lies in.
/// Which of them are its own comes from comparing taps, sixteen bytes at a time. Where rows have
/// ends, or lie so that two can be written in turn, the taps of two outputs are the place of a
/// vector in a table instead, which gradients are combined with.
namespace strata::cpu_training {

/// A row of outputs: their gradients, which tap each maximum was, and which row of the windows it
/// is that the row of dx is.
struct TapRow {
  const float* gradients = nullptr;
  const std::uint8_t* taps = nullptr;
  std::int64_t tap_row = 0;
};

/// What windows of three look like along a row. Output o reaches the numbers o · stride + middle −
/// 1 to o · stride + middle + 1, where middle is 0 or 1.
struct RowOfThrees {
  std::int64_t outputs = 0, middle = 0, width = 0;  // width: of a row of dx
};

struct TapLoops {
  /// Loops expect rows of as many outputs at least.
  static constexpr std::int64_t shortest = 16;
  /// They may read so much behind a row of gradients or taps; it does not matter what is there,
  /// but that gradients are finite.
  static constexpr std::int64_t read_behind = 16;
  /// Gradients so far behind a row, or in front of one, may be multiplied by 0.
  static constexpr std::int64_t looked_at_outside = 4;

  /// Windows of 3 × 3 with stride 2: a row of dx that one row of outputs reaches. Gradients are
  /// multiplied by 0 or 1, so they have to be finite.
  void (*spread_row)(const TapRow& row, const RowOfThrees& along, float* dx);
  /// For `pairs` rows of outputs and one more: the row of dx that is the middle row of each, and
  /// the row between it and the next. Says whether all gradients are finite.
  bool (*spread_row_pairs)(const float* gradients, const std::uint8_t* taps, std::int64_t pairs,
                           const RowOfThrees& along, float* dx);
  /// Windows of 3 × 3 with stride 1: rows of dx from three rows of outputs each, which are given by
  /// the row of their windows; the next rows lie behind them. Says whether all gradients are finite
  /// that were given as the middle row. Reads as much in front of rows as behind them.
  bool (*spread_next_rows)(const TapRow* rows, const RowOfThrees& along, std::int64_t row_count,
                           float* dx);
};

/// The same by comparing taps, where that is enough to know whose each gradient is.
struct ComparedTapLoops {
  /// Fewer outputs than this, and a row is not worth it; loops expect as many.
  static constexpr std::int64_t shortest = 4;

  /// Windows of 2 × 2 with stride 2: `rows` rows of gradients to twice as many rows of dx. A number
  /// of dx behind the last window of a row is 0.
  void (*spread_pairs)(const float* gradients, const std::uint8_t* taps, std::int64_t outputs,
                       std::int64_t rows, float* dx, std::int64_t width);
  /// Windows of 3 × 3 with stride 1, an output for each number, with its window around it: numbers
  /// of any rows and planes that follow each other. A maximum lies inside its plane, so none
  /// belongs to a number that is only next to it in memory. Reads `looked_at_around` more than a
  /// row in front and behind, and has no need of gradients that are finite.
  void (*spread_around)(const float* gradients, const std::uint8_t* taps, std::int64_t width,
                        float* dx, std::int64_t count);
  static constexpr std::int64_t looked_at_around = 32;
  /// Windows of 3 × 3 with stride 2 around every other number of every other row, from the first
  /// on: `rows` rows of gradients, of any planes that follow each other, to twice as many rows of
  /// dx of twice as many numbers; `outputs` is a multiple of four. Maxima lie inside their planes
  /// here as well. Reads `looked_at_around` more than a row behind.
  void (*spread_around_halves)(const float* gradients, const std::uint8_t* taps,
                               std::int64_t outputs, std::int64_t rows, float* dx);
};

/// Null where vectors are longer, or there are none; both or none is there.
const TapLoops* tap_loops();
const ComparedTapLoops* compared_tap_loops();

}  // namespace strata::cpu_training
