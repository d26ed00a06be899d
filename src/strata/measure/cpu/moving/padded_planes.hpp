// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/lanes.hpp"

#include <algorithm>
#include <cstring>

namespace strata::cpu_training {

/// Planes of `rows` rows of `length` numbers that are written with zeros between them: where one
/// row or plane begins after the one before it, in what is read and in what is written.
struct PaddedPlanes {
  const float* x;
  std::int64_t planes, rows, length;
  std::int64_t row_step, plane_step;    // read
  std::int64_t row_width, plane_width;  // written

  /// From the first number to the last.
  std::int64_t written() const {
    return (planes - 1) * plane_width + (rows - 1) * row_width + length;
  }
};

/// A place in what is written: a column of a row, and how far the next row is on both sides.
class PaddedPlace {
 public:
  explicit PaddedPlace(const PaddedPlanes& of) : of_(of), x_(of.x) { begin_row(); }

  const float* x() const { return x_; }             ///< where the row is read
  const float* next() const { return x_ + step_; }  ///< where the next is
  std::int64_t column() const { return column_; }
  std::int64_t width() const { return width_; }
  float number() const { return column_ < of_.length ? x_[column_] : 0.0F; }
  STRATA_INLINE void go_on(std::int64_t numbers) {
    column_ += numbers;
    if (column_ < width_) return;
    column_ -= width_;
    x_ += step_;
    row_ = row_ + 1 < of_.rows ? row_ + 1 : 0;
    begin_row();
  }

 private:
  STRATA_INLINE void begin_row() {
    const bool is_last = row_ + 1 == of_.rows;
    step_ = is_last ? of_.plane_step - row_ * of_.row_step : of_.row_step;
    width_ = is_last ? of_.plane_width - row_ * of_.row_width : of_.row_width;
  }

  PaddedPlanes of_;
  const float* x_;
  std::int64_t row_ = 0, column_ = 0, step_ = 0, width_ = 0;
};

/// A line that lies in two rows and the zeros between them: `left` numbers of the one, zeros up to
/// `next`, and the other from there on.
STRATA_INLINE void write_line_of_two(const float* row, std::int64_t left, const float* other,
                                     std::int64_t next, float* y) {
  using Numbers __attribute__((vector_size(16))) = std::int32_t;
  const Numbers count = {0, 1, 2, 3};
  Numbers parts[4];
#pragma GCC unroll 4
  for (std::int32_t k = 0; k < 4; ++k) {
    const Numbers place = count + 4 * k;
    Numbers a, b;
    std::memcpy(&a, row + 4 * k, sizeof a);
    std::memcpy(&b, other + 4 * k, sizeof b);
    parts[k] = (a & (place < static_cast<std::int32_t>(left))) |
               (b & (place >= static_cast<std::int32_t>(next)));
  }
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < 4; ++k) std::memcpy(y + 4 * k, &parts[k], sizeof parts[k]);
}

/// By way of four vectors of 16 bytes, all of which are loaded before one is stored.
STRATA_INLINE void copy_line(const float* x, float* y) {
  using Numbers __attribute__((vector_size(16))) = float;
  Numbers a, b, c, d;
  std::memcpy(&a, x, sizeof a);
  std::memcpy(&b, x + 4, sizeof b);
  std::memcpy(&c, x + 8, sizeof c);
  std::memcpy(&d, x + 12, sizeof d);
  std::memcpy(y, &a, sizeof a);
  std::memcpy(y + 4, &b, sizeof b);
  std::memcpy(y + 8, &c, sizeof c);
  std::memcpy(y + 12, &d, sizeof d);
}

/// Writes planes from their first number to their last, line by line: a line that is written in
/// parts may be read back from memory before the next part arrives. Rows are of a line at least.
inline void copy_between_zeros(const PaddedPlanes& of, float* y) {
  constexpr std::int64_t line = 16;
  PaddedPlace at(of);
  const std::int64_t length = of.length;
  float* const end = y + of.written();
  for (; y < end && reinterpret_cast<std::uintptr_t>(y) % 64 != 0; ++y, at.go_on(1)) {
    *y = at.number();
  }
  while (y + line <= end) {
    const float* x = at.x() + at.column();
    const std::int64_t whole = std::min((length - at.column()) / line, (end - y) / line);
    if (whole > 0) {
      for (std::int64_t k = 0; k < whole; ++k, x += line, y += line) {
        ask_after(x);
        copy_line(x, y);
      }
      at.go_on(whole * line);
      continue;
    }
    // Numbers that are left out are read, too: they lie in one of both rows.
    const std::int64_t left = std::max<std::int64_t>(0, length - at.column());
    const std::int64_t next = std::min(line, at.width() - at.column());
    ask_after(x);
    write_line_of_two(left > 0 ? x : at.x(), left, next < line ? at.next() - next : at.x(), next,
                      y);
    y += line;
    at.go_on(line);
  }
  for (; y < end; ++y, at.go_on(1)) *y = at.number();
}

}  // namespace strata::cpu_training
