// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

/// Loops of pooling over small windows, as a table of functions: every tap of a window in one walk,
/// so that a row of results is made in registers and written once.
namespace strata::cpu_training {

/// A row that windows look at. Tap k of output i is numbers[i · stride + k · dilation]; `first` is
/// the number of tap 0 in the window. There is room for room_behind_rows numbers behind what the
/// last window looks at.
template <class T>
struct WindowRow {
  const T* numbers;
  std::int32_t first;
};

inline constexpr std::int64_t room_behind_rows = 320;

struct WindowShape {
  std::int64_t rows, taps, dilation, stride;
};

/// A row of outputs' gradients; `which` (if any) says which tap each maximum was, of which
/// `first_tap` is the first that concerns the row that it goes to.
template <class T>
struct SpreadRow {
  const T* gradients;
  const std::uint8_t* which;
  std::int32_t first_tap;
};

/// What goes back to numbers phase, phase + stride, …: tap `tap` of the outputs from `apart` on.
struct SpreadShift {
  std::int64_t phase, apart;
  std::int32_t tap;
};

/// The shifts of phase p are shifts[begin[p]] … shifts[begin[p + 1]].
struct SpreadShifts {
  const SpreadShift* shifts;
  const std::int64_t* begin;
  std::int64_t stride;
};

template <class T>
struct PoolLoops {
  /// The largest of each window and which tap it is, of equals the first; what is not a number
  /// counts as larger than all, as in PyTorch. Where all are −∞, it is tap defaults[i] of the first
  /// row. Behind `which` there is room for room_behind_rows more; null: not wanted.
  void (*largest)(const WindowRow<T>* rows, const WindowShape& shape, const std::int32_t* defaults,
                  T* most, std::uint8_t* which, std::int64_t count);
  /// y = share · shares[i] · the sum of each window
  void (*sum)(const WindowRow<T>* rows, const WindowShape& shape, const T* shares, T share, T* y,
              std::int64_t count);
  /// dx[p + i · stride] = Σ over the rows and the shifts of phase p
  void (*spread)(const SpreadRow<T>* rows, std::int64_t row_count, const SpreadShifts& along, T* dx,
                 std::int64_t count);
};

template <class T>
const PoolLoops<T>& pool_loops();
template <>
const PoolLoops<float>& pool_loops<float>();
template <>
const PoolLoops<double>& pool_loops<double>();

template <class T>
struct PlainPoolLoops {
  static void largest(const WindowRow<T>* rows, const WindowShape& shape,
                      const std::int32_t* defaults, T* most, std::uint8_t* which,
                      std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      T best = -std::numeric_limits<T>::infinity();
      std::int64_t best_tap = rows[0].first + defaults[i];
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        for (std::int64_t k = 0; k < shape.taps; ++k) {
          const T value = rows[row].numbers[i * shape.stride + k * shape.dilation];
          // NOLINTNEXTLINE(misc-redundant-expression): what is no number is unlike itself
          if (!(value > best || value != value)) continue;
          best = value;
          best_tap = rows[row].first + k;
        }
      }
      most[i] = best;
      if (which != nullptr) which[i] = static_cast<std::uint8_t>(best_tap);
    }
  }

  static void sum(const WindowRow<T>* rows, const WindowShape& shape, const T* shares, T share,
                  T* y, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      T total = 0;
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        for (std::int64_t k = 0; k < shape.taps; ++k) {
          total += rows[row].numbers[i * shape.stride + k * shape.dilation];
        }
      }
      y[i] = total * (share * shares[i]);
    }
  }

  static void spread(const SpreadRow<T>* rows, std::int64_t row_count, const SpreadShifts& along,
                     T* dx, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) dx[i] = 0;
    for (std::int64_t s = 0; s < along.begin[along.stride]; ++s) {
      const SpreadShift& shift = along.shifts[s];
      for (const SpreadRow<T>* row = rows; row != rows + row_count; ++row) {
        std::int64_t o = shift.apart;
        for (std::int64_t i = shift.phase; i < count; i += along.stride, ++o) {
          const bool is_there =
              row->which == nullptr || row->which[o] == row->first_tap + shift.tap;
          if (is_there) dx[i] += row->gradients[o];
        }
      }
    }
  }

  static PoolLoops<T> table() { return {.largest = largest, .sum = sum, .spread = spread}; }
};

}  // namespace strata::cpu_training
