// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/row_sequences.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"

/// Loops of batch norm over rows that hold one number of each channel. Several rows are taken at
/// once, a line of each in turn, so that what belongs to the channels is read once for all of them.
namespace strata::cpu_training {

/// How many rows are taken at once, as measured: the more, the less often sums or lines are read;
/// but each row of x and dy is one more place that is read from, or written to.
inline constexpr std::int64_t summed_rows_at_once(bool has_dy) { return has_dy ? 2 : 4; }
inline constexpr std::int64_t written_rows_at_once = 2;

/// `rows` rows one behind the other, of each of `count` sequences that begin `apart` numbers apart,
/// of which one row each is taken at once: see cpu::in_sequences.
struct RowSequences {
  std::int64_t count = 1, rows = 0, apart = 0;
};

/// Two sums of each channel and what is taken off its numbers before.
template <class T>
struct ChannelSums : InTurn<T> {
  static constexpr std::int64_t base = 0, first = InTurn<T>::line, second = 2 * first;
};

/// Adds rows `apart` numbers apart: Σ (x − base) and Σ (x − base)², or, with dy, Σ dy and
/// Σ dy·(x − base). Without bases those are 0.
template <bool has_dy, bool has_base, std::int64_t rows, class T>
STRATA_INLINE void add_some_rows(const T* x, const T* dy, std::int64_t apart, std::int64_t channels,
                                 T* sums) {
  using P = ChannelSums<T>;
  constexpr std::int64_t vectors = P::vectors;
  T* own = sums;
  std::int64_t i = 0;
  for (; i + P::line <= channels; i += P::line, own += P::step) {
    [[maybe_unused]] Lanes<T> base[vectors];
    Lanes<T> first[vectors], second[vectors];
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      if constexpr (has_base) at.load(base[k], own + P::base);
      at.load(first[k], own + P::first);
      at.load(second[k], own + P::second);
    }
#pragma GCC unroll 4
    for (std::int64_t row = 0; row < rows; ++row) {
      ask_after(x + row * apart + i);
      if constexpr (has_dy) ask_after(dy + row * apart + i);
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        const AtLanes<T> at{row * apart + i + k * lanes<T>};
        Lanes<T> moved, d;
        at.load(moved, x);
        if constexpr (has_base) moved -= base[k];
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
      T moved = x[row * apart + i];
      if constexpr (has_base) moved -= place[P::base];
      const T d = has_dy ? dy[row * apart + i] : moved;
      place[P::first] += d;
      place[P::second] += moved * d;
    }
  }
}
template <bool has_dy, bool has_base, class T>
STRATA_INLINE void add_channel_rows_loop(const T* x, const T* dy, RowSequences s,
                                         std::int64_t channels, T* sums) {
  constexpr std::int64_t at_once = summed_rows_at_once(has_dy);
  for (std::int64_t row = 0; row < s.rows; ++row, x += channels, dy += channels) {
    if (s.count == at_once) {
      add_some_rows<has_dy, has_base, at_once>(x, dy, s.apart, channels, sums);
      continue;
    }
    for (std::int64_t k = 0; k < s.count; ++k) {
      add_some_rows<has_dy, has_base, 1>(x + k * s.apart, dy + k * s.apart, 0, channels, sums);
    }
  }
}
/// dy may be null. Best with summed_rows_at_once sequences.
template <class T>
STRATA_INLINE void add_channel_rows_loop(const T* x, const T* dy, const RowSequences& s,
                                         std::int64_t channels, bool has_base, T* sums) {
  if (dy != nullptr && has_base) {
    add_channel_rows_loop<true, true>(x, dy, s, channels, sums);
  } else if (dy != nullptr) {
    add_channel_rows_loop<true, false>(x, dy, s, channels, sums);
  } else if (has_base) {
    add_channel_rows_loop<false, true>(x, x, s, channels, sums);
  } else {
    add_channel_rows_loop<false, false>(x, x, s, channels, sums);
  }
}

/// What a channel's numbers are multiplied with, what is added, and what dy is multiplied with.
template <class T>
struct ChannelLines : InTurn<T> {
  static constexpr std::int64_t slope = 0, offset = InTurn<T>::line, d_slope = 2 * offset;
};

/// y = x·slope + offset of rows `apart` numbers apart, or, with dy, y = x·slope + offset +
/// dy·d_slope.
template <bool has_dy, std::int64_t rows, class T>
STRATA_INLINE void some_channel_lines(const T* x, const T* dy, const T* lines, T* y,
                                      std::int64_t apart, std::int64_t channels) {
  using P = ChannelLines<T>;
  constexpr std::int64_t vectors = P::vectors;
  const T* own = lines;
  std::int64_t i = 0;
  for (; i + P::line <= channels; i += P::line, own += P::step) {
    Lanes<T> slope[vectors], offset[vectors], d_slope[vectors];
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      at.load(slope[k], own + P::slope);
      at.load(offset[k], own + P::offset);
      if constexpr (has_dy) at.load(d_slope[k], own + P::d_slope);
    }
#pragma GCC unroll 4
    for (std::int64_t row = 0; row < rows; ++row) {
      ask_after(x + row * apart + i);
      if constexpr (has_dy) ask_after(dy + row * apart + i);
      // All of a line is loaded before any of it is stored.
      const std::int64_t line = row * apart + i;
      Lanes<T> number[vectors], d[vectors];
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        const AtLanes<T> at{line + k * lanes<T>};
        at.load(number[k], x);
        if constexpr (has_dy) at.load(d[k], dy);
      }
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        number[k] = number[k] * slope[k] + offset[k];
        if constexpr (has_dy) number[k] += d[k] * d_slope[k];
      }
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        AtLanes<T>{line + k * lanes<T>}.store(number[k], y);
      }
    }
  }
  for (; i < channels; ++i) {
    const T* const place = lines + P::place(i);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = row * apart + i;
      const T result = x[at] * place[P::slope] + place[P::offset];
      y[at] = has_dy ? result + dy[at] * place[P::d_slope] : result;
    }
  }
}
template <bool has_dy, class T>
STRATA_INLINE void channel_lines_loop(const T* x, const T* dy, const T* lines, T* y,
                                      std::int64_t rows, std::int64_t channels) {
  cpu::in_sequences<written_rows_at_once>(
      rows, [=](std::int64_t first, std::int64_t apart, auto number)
                __attribute__((always_inline)) {
                  const std::int64_t at = first * channels;
                  some_channel_lines<has_dy, number>(x + at, dy + at, lines, y + at,
                                                     apart * channels, channels);
                });
}
/// dy may be null.
template <class T>
STRATA_INLINE void channel_lines_loop(const T* x, const T* dy, const T* lines, T* y,
                                      std::int64_t rows, std::int64_t channels) {
  if (dy != nullptr) return channel_lines_loop<true>(x, dy, lines, y, rows, channels);
  channel_lines_loop<false>(x, x, lines, y, rows, channels);
}

}  // namespace strata::cpu_training
