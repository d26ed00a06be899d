// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/lanes.hpp"

/// Loops of batch norm over rows that hold one number of each channel.
namespace strata::cpu_training {

/// Two sums of each channel and what is taken off its numbers before.
template <class T>
struct ChannelSums : InTurn<T> {
  static constexpr std::int64_t base = 0, first = InTurn<T>::line, second = 2 * first;
};

/// Adds rows one behind the other: Σ (x − base) and Σ (x − base)², or, with dy, Σ dy and
/// Σ dy·(x − base).
template <bool has_dy, std::int64_t rows, class T>
STRATA_INLINE void add_some_rows(const T* x, const T* dy, std::int64_t channels, T* sums) {
  using P = ChannelSums<T>;
  constexpr std::int64_t vectors = P::vectors;
  T* own = sums;
  std::int64_t i = 0;
  for (; i + P::line <= channels; i += P::line, own += P::step) {
    Lanes<T> base[vectors], first[vectors], second[vectors];
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      at.load(base[k], own + P::base);
      at.load(first[k], own + P::first);
      at.load(second[k], own + P::second);
    }
#pragma GCC unroll 4
    for (std::int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        const AtLanes<T> at{row * channels + i + k * lanes<T>};
        Lanes<T> moved, d;
        at.load(moved, x);
        moved -= base[k];
        if constexpr (has_dy) {
          at.load(d, dy);
        } else {
          d = moved;
        }
        first[k] += d;
        second[k] += moved * d;
      }
    }
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      at.store(first[k], own + P::first);
      at.store(second[k], own + P::second);
    }
  }
  for (; i < channels; ++i) {
    T* const place = sums + P::place(i);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T moved = x[row * channels + i] - place[P::base];
      const T d = has_dy ? dy[row * channels + i] : moved;
      place[P::first] += d;
      place[P::second] += moved * d;
    }
  }
}
template <bool has_dy, class T>
STRATA_INLINE void add_channel_rows_loop(const T* x, const T* dy, std::int64_t rows,
                                         std::int64_t channels, T* sums) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    add_some_rows<has_dy, 4>(x + row * channels, dy + row * channels, channels, sums);
  }
  for (; row < rows; ++row) {
    add_some_rows<has_dy, 1>(x + row * channels, dy + row * channels, channels, sums);
  }
}
/// dy may be null.
template <class T>
STRATA_INLINE void add_channel_rows_loop(const T* x, const T* dy, std::int64_t rows,
                                         std::int64_t channels, T* sums) {
  if (dy != nullptr) return add_channel_rows_loop<true>(x, dy, rows, channels, sums);
  add_channel_rows_loop<false>(x, x, rows, channels, sums);
}

/// What a channel's numbers are multiplied with, what is added, and what dy is multiplied with.
template <class T>
struct ChannelLines : InTurn<T> {
  static constexpr std::int64_t slope = 0, offset = InTurn<T>::line, d_slope = 2 * offset;
};

/// y = x·slope + offset of a row, or, with dy, y = x·slope + offset + dy·d_slope.
template <bool has_dy, class T>
STRATA_INLINE void channel_lines_loop(const T* x, const T* dy, const T* lines, T* y,
                                      std::int64_t channels) {
  using P = ChannelLines<T>;
  const T* own = lines;
  std::int64_t i = 0;
  for (; i + P::line <= channels; i += P::line, own += P::step) {
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < P::vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      Lanes<T> number, slope, result;
      at.load(number, x + i);
      at.load(slope, own + P::slope);
      at.load(result, own + P::offset);
      result += number * slope;
      if constexpr (has_dy) {
        at.load(number, dy + i);
        at.load(slope, own + P::d_slope);
        result += number * slope;
      }
      at.store(result, y + i);
    }
  }
  for (; i < channels; ++i) {
    const T* const place = lines + P::place(i);
    const T result = x[i] * place[P::slope] + place[P::offset];
    y[i] = has_dy ? result + dy[i] * place[P::d_slope] : result;
  }
}
/// dy may be null.
template <class T>
STRATA_INLINE void channel_lines_loop(const T* x, const T* dy, const T* lines, T* y,
                                      std::int64_t channels) {
  if (dy != nullptr) return channel_lines_loop<true>(x, dy, lines, y, channels);
  channel_lines_loop<false>(x, x, lines, y, channels);
}

}  // namespace strata::cpu_training
