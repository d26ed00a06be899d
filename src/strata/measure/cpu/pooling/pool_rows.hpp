// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/pooling/pool_loops.hpp"
#include "strata/measure/cpu/pooling/pool_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

/// The rows that pooling looks at, with what lies outside around them.
namespace strata::cpu_training {

/// Rows of a plane, one after the other, some of which stay in the first cache. They are made a few
/// rows before they are read: a processor waits for what it has only just written, when it is read
/// at other places than it was written.
template <class Number>
class RowsHeld {
 public:
  /// reach: how many rows are read at the same time.
  RowsHeld(std::int64_t rows, std::int64_t reach, std::int64_t left, std::int64_t width,
           Number outside)
      : rows_(rows),
        slots_(std::min(rows, reach + ahead)),
        left_(left),
        width_(left + width + room_behind_rows),
        numbers_(static_cast<std::size_t>(slots_ * width_), outside) {
    for (std::int64_t row = 0; row < rows; ++row) {
      places_.push_back(numbers_.data() + row % slots_ * width_ + left_);
    }
  }
  RowsHeld(const RowsHeld&) = delete;
  RowsHeld& operator=(const RowsHeld&) = delete;

  std::int64_t width() const { return width_; }
  /// Rows are those of another plane from here on.
  void forget() { made_ = 0; }
  /// Calls make(row, place) for rows up to this one, and a few more.
  template <class Make>
  void make_up_to(std::int64_t row, const Make& make) {
    const std::int64_t end = std::min(rows_, row + ahead);
    for (; made_ < end; ++made_) make(made_, places_[static_cast<std::size_t>(made_)]);
  }
  const Number* operator[](std::int64_t row) const {
    return places_[static_cast<std::size_t>(row)];
  }

 private:
  static constexpr std::int64_t ahead = 4;  // row itself is the first

  std::int64_t rows_, slots_, left_, width_, made_ = 0;
  std::vector<Number> numbers_;
  std::vector<Number*> places_;  // of each row
};

/// A row that belongs to a row of windows, or one of windows that a row belongs to; `tap_row` is
/// which row of the window it is. Listed once: finding them takes divisions.
struct RowInWindow {
  std::int64_t row, tap_row;
};
using RowLists = std::vector<std::vector<RowInWindow>>;

/// For each row of outputs, the rows of the input.
inline RowLists rows_of_windows(const PoolPlan& plan) {
  RowLists lists(static_cast<std::size_t>(plan.out_rows()));
  for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
    each_input_row(plan, row / plan.out[1], row % plan.out[1],
                   [&](std::int64_t place, std::int64_t tap_row) {
                     lists[static_cast<std::size_t>(row)].push_back({place / plan.in[2], tap_row});
                   });
  }
  return lists;
}

/// The rows of the input that each row of windows looks at.
template <class T>
class WindowRows {
 public:
  WindowRows(const PoolPlan& plan, const RowLists& lists, T outside, const T* tensor)
      : plan_(plan),
        lists_(lists),
        end_(tensor + plan.planes * plan.in_plane()),
        step_(plan.in_plane() / plan.out_rows()),
        held_(plan.in_rows(),
              plan.in[0] > 1 ? plan.in_rows() : (plan.kernel[1] - 1) * plan.dilation[1] + 1,
              plan.pad[2], plan.padded_width(), outside) {}

  void begin(const T* plane) {
    plane_ = plane;
    // Where nothing lies outside, rows are read where they are, if there is enough behind them.
    is_in_place_ = plan_.pad[2] == 0 && plan_.padded_width() == plan_.in[2] &&
                   end_ - plane >= plan_.in_plane() + room_behind_rows;
    held_.forget();
  }

  /// Those of a row of outputs, until the next call.
  const std::vector<WindowRow<T>>& of(std::int64_t output_row) {
    rows_.clear();
    // Processors foresee only what lies in one page.
    constexpr std::int64_t distance = 4096;
    fetch(plane_ + output_row * step_ + distance, step_);
    for (const auto& [row, tap_row] : lists_[static_cast<std::size_t>(output_row)]) {
      rows_.push_back({numbers_of(row), static_cast<std::int32_t>(tap_row * plan_.kernel[2])});
    }
    return rows_;
  }

 private:
  const T* numbers_of(std::int64_t row) {
    if (is_in_place_) return plane_ + row * plan_.in[2];
    held_.make_up_to(plan_.in[0] > 1 ? plan_.in_rows() : row, [&](std::int64_t made, T* to) {
      std::copy_n(plane_ + made * plan_.in[2], plan_.in[2], to);
    });
    return held_[row] - plan_.pad[2];
  }

  const PoolPlan& plan_;
  const RowLists& lists_;
  const T* end_;
  std::int64_t step_;  // of the input, per row of outputs
  const T* plane_ = nullptr;
  bool is_in_place_ = false;
  RowsHeld<T> held_;
  std::vector<WindowRow<T>> rows_;
};

/// The way back: which rows of outputs go to each row of the input, and along a row, how far apart
/// an output lies from the number that it goes to. Numbers of the input that lie `stride` apart get
/// the same taps of neighbouring outputs.
class SpreadPlan {
 public:
  explicit SpreadPlan(const PoolPlan& plan)
      : holders_(static_cast<std::size_t>(plan.in_rows())),
        rows_(plan.out_rows()),
        is_flat_(plan.in[0] == 1 && plan.out[0] == 1),
        reach_(!is_flat_ ? rows_ : (plan.kernel[1] - 1) * plan.dilation[1] / plan.stride[1] + 1),
        stride_(plan.stride[2]),
        margin_((plan.kernel[2] * plan.dilation[2] + plan.pad[2]) / stride_ + 1),
        width_(margin_ + std::max(plan.out[2], (plan.in[2] + stride_ - 1) / stride_)) {
    const RowLists windows = rows_of_windows(plan);
    for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
      for (const auto& [of_input, tap_row] : windows[static_cast<std::size_t>(row)]) {
        holders_[static_cast<std::size_t>(of_input)].push_back({row, tap_row});
      }
    }
    for (std::int64_t phase = 0; phase < stride_; ++phase) {
      for (std::int64_t tap = 0; tap < plan.kernel[2]; ++tap) {
        const std::int64_t apart = phase + plan.pad[2] - tap * plan.dilation[2];
        if (apart % stride_ != 0) continue;
        shifts_.push_back({phase, apart / stride_, static_cast<std::int32_t>(tap)});
      }
      begin_.push_back(static_cast<std::int64_t>(shifts_.size()));
    }
  }

  template <class Number>
  RowsHeld<Number> room() const {
    return {rows_, reach_, margin_, width_, Number(0)};
  }
  std::int64_t margin() const { return margin_; }
  /// The last row of outputs that is read with this one.
  std::int64_t last_with(std::int64_t row) const { return is_flat_ ? row : rows_; }
  const std::vector<RowInWindow>& holders(std::int64_t row) const {
    return holders_[static_cast<std::size_t>(row)];
  }

  SpreadShifts along() const { return {shifts_.data(), begin_.data(), stride_}; }

 private:
  RowLists holders_;
  std::int64_t rows_;
  bool is_flat_;
  std::int64_t reach_, stride_, margin_, width_;
  std::vector<SpreadShift> shifts_;
  std::vector<std::int64_t> begin_{0};
};

/// Calls make(place) for the next `count` numbers, however many; `room` holds as many.
template <class T, class Make>
void make_row(ResultStream<T>& stream, std::vector<T>& room, std::int64_t count, const Make& make) {
  if (count <= ResultStream<T>::longest) return make(stream.next(count));
  room.resize(static_cast<std::size_t>(count));
  make(room.data());
  stream.copy(room.data(), count);
}

}  // namespace strata::cpu_training
