// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/loops/lanes.hpp"

/// Loops of the gradient of norms over rows, for vector units whose stores pass through the caches:
/// a walk that reads rows from memory for their sums, then one that writes dx.
namespace strata::cpu_training {

// Where each number has its own scale and shift, two rows at a time: what parameters are and what
// is added to their gradients is then read and written once for both.

/// Scales of a row's numbers and the gradients of scales and shifts.
template <class T>
struct NormParameters : InTurn<T> {
  static constexpr std::int64_t scale = 0, d_scale = InTurn<T>::line, d_shift = 2 * d_scale;
};

/// A row of x and dy, and the row behind it.
template <class T>
struct TwoGradientRows {
  const T* x;
  const T* dy;
  const T* statistics;  ///< mean and factor of the one, then of the other
  std::int64_t length;
  std::int64_t ahead;  ///< so far behind the first row one is asked for that comes soon; 0: none
};

/// Σ d and Σ d·(x − mean) of both rows with d = dy·scale; their share of the gradients of scale,
/// Σ dy·(x − mean)·factor, and of shift, Σ dy. Without a mean, which is 0, neither Σ d nor shift.
template <bool takes_mean, class T>
STRATA_INLINE void two_row_sums_loop(const TwoGradientRows<T>& rows, T* parameters,
                                     PairOfSums<T>* sums) {
  using P = NormParameters<T>;
  constexpr std::int64_t vectors = P::vectors;
  const std::int64_t length = rows.length, ahead = rows.ahead;
  const T *const x = rows.x, *const dy = rows.dy;
  const T mean[2] = {rows.statistics[0], rows.statistics[2]};
  const T factor[2] = {rows.statistics[1], rows.statistics[3]};
  Lanes<T> first[2] = {}, second[2] = {};
  T* own = parameters;
  std::int64_t i = 0;
  for (; i + P::line <= length; i += P::line, own += P::step) {
    Lanes<T> scale[vectors], d_scale[vectors], d_shift[vectors];
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      at.load(scale[k], own + P::scale);
      at.load(d_scale[k], own + P::d_scale);
      if constexpr (takes_mean) at.load(d_shift[k], own + P::d_shift);
    }
#pragma GCC unroll 2
    for (std::int64_t r = 0; r < 2; ++r) {
      const T *const row_x = x + r * length + i, *const row_dy = dy + r * length + i;
      if (r == 0) {
        __builtin_prefetch(row_x + ahead, 0, 2);
        __builtin_prefetch(row_dy + ahead, 0, 2);
      }
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        const AtLanes<T> at{k * lanes<T>};
        Lanes<T> number, d;
        at.load(number, row_x);
        at.load(d, row_dy);
        if constexpr (takes_mean) number -= mean[r];
        number *= d;
        second[r] += number * scale[k];
        d_scale[k] += number * factor[r];
        if constexpr (takes_mean) {
          first[r] += d * scale[k];
          d_shift[k] += d;
        }
      }
    }
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      at.store(d_scale[k], own + P::d_scale);
      if constexpr (takes_mean) at.store(d_shift[k], own + P::d_shift);
    }
  }
  for (std::int64_t r = 0; r < 2; ++r) {
    const std::index_sequence<0> one;
    sums[r] = {sum_of_lanes<T>(&first[r], one), sum_of_lanes<T>(&second[r], one)};
    for (std::int64_t k = i; k < length; ++k) {
      T* const place = parameters + P::place(k);
      const T d = dy[r * length + k];
      const T product = d * (x[r * length + k] - mean[r]);
      sums[r].add({d * place[P::scale], product * place[P::scale]});
      place[P::d_scale] += product * factor[r];
      place[P::d_shift] += d;
    }
  }
}
template <class T>
STRATA_INLINE void two_row_sums_loop(const TwoGradientRows<T>& rows, bool takes_mean, T* parameters,
                                     PairOfSums<T>* sums) {
  if (takes_mean) return two_row_sums_loop<true>(rows, parameters, sums);
  two_row_sums_loop<false>(rows, parameters, sums);
}

/// What dx = dy·scale·factor + ((x − mean)·slope + offset) of a row is made of.
template <class T>
struct RowGradient {
  const T* dy;
  const T* x;
  T factor, slope;
  T mean, offset;    ///< both 0 or none
  const T* fetched;  ///< a row that is asked for meanwhile; x: none
};

template <bool has_mean, class T>
STRATA_INLINE void row_gradient_loop(const RowGradient<T>& row, const T* parameters, T* dx,
                                     std::int64_t length) {
  using P = NormParameters<T>;
  constexpr std::int64_t vectors = P::vectors;
  const auto [dy, x, factor, slope, mean, offset, fetched] = row;
  const T* own = parameters;
  std::int64_t i = 0;
  for (; i + P::line <= length; i += P::line, own += P::step) {
    __builtin_prefetch(fetched + i, 0, 2);
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      Lanes<T> d, number, scale;
      at.load(d, dy + i);
      at.load(number, x + i);
      at.load(scale, own + P::scale);
      d *= scale;
      if constexpr (has_mean) {
        number = (number - mean) * slope + offset;
      } else {
        number *= slope;
      }
      number += d * factor;
      at.store(number, dx + i);
    }
  }
  for (; i < length; ++i) {
    dx[i] = dy[i] * parameters[P::place(i) + P::scale] * factor + ((x[i] - mean) * slope + offset);
  }
}

template <class T>
STRATA_INLINE void row_gradient_loop(const RowGradient<T>& row, const T* parameters, T* dx,
                                     std::int64_t length) {
  const bool has_mean = row.mean != T(0) || row.offset != T(0);
  if (has_mean) return row_gradient_loop<true>(row, parameters, dx, length);
  row_gradient_loop<false>(row, parameters, dx, length);
}

// Where neighbours, a plane of them, share a scale: nothing but sums and lines is left.

/// Σ dy and Σ dy·(x − base) of a plane that the walk before has asked for: from the last cache it
/// is brought into the first.
template <class T>
STRATA_INLINE PairOfSums<T> plane_sums_loop(const T* dy, const T* x, T base, std::int64_t count) {
  return with_base(
      base, [=](auto has_base) __attribute__((always_inline)) {
        return pair_loop<T>(
            count, [=](auto at, auto& sums, auto& products) __attribute__((always_inline)) {
              typename decltype(at)::Number d, number;
              bring_soon(dy + at.place);
              bring_soon(x + at.place);
              at.load_near(d, dy);
              at.load_near(number, x);
              if constexpr (has_base) number -= base;
              sums += d;
              products += d * number;
            });
      });
}

/// What dx = dy·factor + ((x − base)·slope + offset) of a plane is made of.
template <class T>
struct PlaneGradient {
  const T* dy;
  const T* x;
  T factor, slope, base, offset;
  std::int64_t ahead;  ///< so far behind the plane one is asked for that comes soon; 0: none
};

template <class T>
STRATA_INLINE void plane_gradient_loop(const PlaneGradient<T>& plane, T* dx, std::int64_t count) {
  const auto [dy, x, factor, slope, base, offset, ahead] = plane;
  with_base(
      base, [=](auto has_base) __attribute__((always_inline)) {
        const auto write = [=](auto at) __attribute__((always_inline)) {
          typename decltype(at)::Number d, number;
          ask_at(dy + at.place + ahead);
          ask_at(x + at.place + ahead);
          at.load_near(d, dy);
          at.load_near(number, x);
          if constexpr (has_base) number -= base;
          d = d * factor + offset;
          at.store(d + number * slope, dx);
        };
        numbers_of<T>(count, write);
      });
}

}  // namespace strata::cpu_training
