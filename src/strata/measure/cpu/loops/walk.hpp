// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"
#include "strata/measure/cpu/loops/workers.hpp"

#include <array>
#include <utility>
#include <vector>

namespace strata::cpu_training {

using Sizes = InlineVector<std::int64_t, most_axes>;

/// How far apart neighbours along each axis lie, in elements, of a tensor stored whole.
Sizes strides_of(const Sizes& shape);
/// The same for a tensor that is broadcast to `to`: 0 along repeated axes.
Sizes broadcast_strides(const Sizes& shape, const Sizes& to);

/// Pieces of several operands fit the first cache together.
inline constexpr std::int64_t longest_piece = 512;

/// Goes through a shape in pieces of its last axis; several tensors with strides of their own are
/// walked at once. Axes that all of them have side by side become one.
class Walk {
 public:
  static constexpr std::size_t most_operands = 8;
  using Offsets = std::array<std::int64_t, most_operands>;

  Walk(const Sizes& shape, const std::vector<Sizes>& operand_strides);

  /// Pieces of up to `numbers`, for loops that need no PieceBuffer.
  void set_longest_piece(std::int64_t numbers) {
    piece_length_ = std::min(row_length(), numbers);
    pieces_per_row_ = (row_length() + numbers - 1) / numbers;
  }

  const Sizes& shape() const { return shape_; }
  const Sizes& strides(std::size_t operand) const { return strides_[operand]; }
  std::int64_t rows() const { return rows_; }
  std::int64_t row_length() const { return shape_.back(); }
  /// Along a row.
  std::int64_t step(std::size_t operand) const { return steps_[operand]; }
  /// Pieces that threads may take; each is of at most `piece_length` numbers.
  std::int64_t pieces() const { return rows_ * pieces_per_row_; }
  std::int64_t piece_length() const { return piece_length_; }
  /// The first axis of what remains, which threads can share where an operand does not repeat along
  /// it.
  std::int64_t first_extent() const { return shape_.size() > 1 ? shape_[0] : 1; }
  std::int64_t first_stride(std::size_t operand) const { return strides_[operand][0]; }

  /// Calls f(offsets, length) for the pieces begin … end in order. Little is stored between two
  /// pieces, and that side by side: processors that write long stretches without fetching their
  /// lines are easily put off.
  template <class F>
  void each_piece(std::int64_t begin, std::int64_t end, const F& f) const {
    if (begin >= end) return;
    const std::int64_t per_row = pieces_per_row_, most = piece_length_, length = row_length();
    const std::size_t operands = strides_.size();
    Place at = place_of(begin / per_row);
    const auto move = [&](std::int64_t numbers) {
      for (std::size_t k = 0; k < operands; ++k) at.offsets[k] += numbers * steps_[k];
    };
    std::int64_t first = begin % per_row;
    for (std::int64_t left = end - begin;; go_on(at)) {
      const std::int64_t last = std::min(first + left, per_row);
      if (first > 0) move(first * most);
      for (std::int64_t piece = first; piece < last; ++piece) {
        f(std::as_const(at.offsets), std::min(most, length - piece * most));
        if (piece + 1 < last) move(most);
      }
      left -= last - first;
      if (left == 0) return;
      if (last > 1) move((1 - last) * most);
      first = 0;
    }
  }

  /// Calls f(begin, end) for parts of the pieces, on all threads.
  template <class F>
  void each_part(const Workers& workers, const F& f) const {
    const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / piece_length_);
    workers.ranges(pieces(), least, f);
  }

  /// Calls f(offsets, length) for all pieces, on all threads.
  template <class F>
  void each_piece(const Workers& workers, const F& f) const {
    each_part(workers, [&](std::int64_t begin, std::int64_t end) { each_piece(begin, end, f); });
  }

 private:
  /// Of a row: its index along each axis but the last, and where it begins in each operand.
  struct Place {
    Sizes index;
    alignas(64) Offsets offsets;
  };
  Place place_of(std::int64_t row) const;
  void go_on(Place& at) const {
    for (std::size_t axis = shape_.size() - 1; axis-- > 0;) {
      const bool is_last = ++at.index[axis] == shape_[axis];
      const std::int64_t steps = is_last ? 1 - shape_[axis] : 1;
      for (std::size_t k = 0; k < strides_.size(); ++k) {
        at.offsets[k] += steps * strides_[k][axis];
      }
      if (!is_last) return;
      at.index[axis] = 0;
    }
  }

  Sizes shape_;
  std::vector<Sizes> strides_;
  Offsets steps_{};  // along a row
  std::int64_t rows_ = 1;
  std::int64_t piece_length_ = 0;
  std::int64_t pieces_per_row_ = 1;
};

}  // namespace strata::cpu_training
