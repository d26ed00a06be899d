// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/lanes.hpp"

#include <cmath>

/// Loops of the gradient of norms over rows, for vector units whose stores pass through the caches:
/// while a row is written, the next is read for its sums. Memory is read all the time and written
/// all the time, which neither of two walks would do.
namespace strata::cpu_training {

/// What is taken off numbers with such a mean and such a factor, one over their deviation: nothing
/// where the mean is near 0, as then it can be taken off sums and offsets without losing digits.
template <class T>
STRATA_INLINE T base_for(T mean, T factor) {
  return std::abs(mean) * factor <= T(2) ? T(0) : mean;
}

// Where each number has its own scale and shift. All rows in one call, with what belongs to a row
// in registers: a core that writes whole lines to memory without fetching them stops doing so for a
// while when a few variables are stored in between.

/// Scales of a row's numbers and the gradients of scales and shifts.
template <class T>
struct NormParameters : InTurn<T> {
  static constexpr std::int64_t scale = 0, d_scale = InTurn<T>::line, d_shift = 2 * d_scale;
};

/// Rows one behind the other; of each its mean and its factor, one after the other. Without a mean
/// that is 0.
template <class T>
struct NormGradientRows {
  const T* x;
  const T* dy;
  const T* statistics;
  T* dx;
  std::int64_t count, length;
};

/// dx = dy·scale·factor + ((x − base)·slope + offset) of a row.
template <class T>
struct NormRowWriter {
  const T* x;
  const T* dy;
  T* dx;
  T factor, slope, base, offset;

  template <bool takes_mean, bool has_base, class Number>
  STRATA_INLINE void result(Number& number, Number& d, const Number& scale) const {
    d *= scale;
    if constexpr (has_base) number -= base;
    if constexpr (takes_mean) {
      number = number * slope + offset;
    } else {
      number *= slope;
    }
    number += d * factor;
  }
};
/// Σ d and Σ d·(x − mean) of a row with d = dy·scale; its share of the gradients of scale,
/// dy·(x − mean)·factor, and of shift, dy. Without a mean neither Σ d nor shift.
template <class T>
struct NormRowSummer {
  const T* x;
  const T* dy;
  T mean, factor;

  template <bool takes_mean, class Number>
  STRATA_INLINE void add(Number& number, const Number& d, const Number& scale, Number& d_scale,
                         Number& d_shift, Number& first, Number& second) const {
    if constexpr (takes_mean) {
      number -= mean;
      first += d * scale;
      d_shift += d;
    }
    number *= d;
    second += number * scale;
    d_scale += number * factor;
  }
};

/// Writes a row, and adds up the next one.
template <bool takes_mean, bool has_base, bool writes, bool sums, class T>
STRATA_INLINE PairOfSums<T> norm_row_gradient(const NormRowWriter<T>& row,
                                              const NormRowSummer<T>& next, T* parameters,
                                              std::int64_t length) {
  using P = NormParameters<T>;
  constexpr std::int64_t vectors = P::vectors;
  Lanes<T> first[vectors] = {}, second[vectors] = {};
  T* own = parameters;
  std::int64_t i = 0;
  for (; i + P::line <= length; i += P::line, own += P::step) {
    Lanes<T> scale[vectors], number[vectors], d_scale[vectors], d_shift[vectors], d;
    // Whole lines at a time, of dx as of gradients.
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      at.load(scale[k], own + P::scale);
      if constexpr (!writes) continue;
      at.load(d, row.dy + i);
      at.load(number[k], row.x + i);
      row.template result<takes_mean, has_base>(number[k], d, scale[k]);
    }
    if constexpr (writes) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        AtLanes<T>{k * lanes<T>}.store(number[k], row.dx + i);
      }
    }
    if constexpr (!sums) continue;
    ask_after(next.x + i);
    ask_after(next.dy + i);
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < vectors; ++k) {
      const AtLanes<T> at{k * lanes<T>};
      at.load(number[k], next.x + i);
      at.load(d, next.dy + i);
      at.load(d_scale[k], own + P::d_scale);
      if constexpr (takes_mean) at.load(d_shift[k], own + P::d_shift);
      next.template add<takes_mean>(number[k], d, scale[k], d_scale[k], d_shift[k], first[k],
                                    second[k]);
    }
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < vectors; ++k) {
      AtLanes<T>{k * lanes<T>}.store(d_scale[k], own + P::d_scale);
    }
    if constexpr (takes_mean) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < vectors; ++k) {
        AtLanes<T>{k * lanes<T>}.store(d_shift[k], own + P::d_shift);
      }
    }
  }
  const auto each = std::make_index_sequence<static_cast<std::size_t>(vectors)>();
  PairOfSums<T> total{sum_of_lanes<T>(first, each), sum_of_lanes<T>(second, each)};
  for (; i < length; ++i) {
    T* const place = parameters + P::place(i);
    if constexpr (writes) {
      T number = row.x[i], d = row.dy[i];
      row.template result<takes_mean, has_base>(number, d, place[P::scale]);
      row.dx[i] = number;
    }
    if constexpr (!sums) continue;
    T number = next.x[i];
    next.template add<takes_mean>(number, next.dy[i], place[P::scale], place[P::d_scale],
                                  place[P::d_shift], total.first, total.second);
  }
  return total;
}

template <bool takes_mean, class T>
STRATA_INLINE void norm_gradient_rows_loop(const NormGradientRows<T>& rows, T* parameters) {
  const std::int64_t length = rows.length;
  const T* const statistics = rows.statistics;
  const auto summer = [=](std::int64_t row) __attribute__((always_inline)) {
    return NormRowSummer<T>{rows.x + row * length, rows.dy + row * length, statistics[2 * row],
                            statistics[2 * row + 1]};
  };
  PairOfSums<T> sums =
      norm_row_gradient<takes_mean, false, false, true, T>({}, summer(0), parameters, length);
  const T each = T(1) / static_cast<T>(length);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const T mean = statistics[2 * row], factor = statistics[2 * row + 1];
    const T slope = -factor * factor * factor * sums.second * each;
    const T base = base_for(mean, factor);
    const NormRowWriter<T> writer{rows.x + row * length,
                                  rows.dy + row * length,
                                  rows.dx + row * length,
                                  factor,
                                  slope,
                                  base,
                                  -factor * sums.first * each - (mean - base) * slope};
    const bool is_last = row + 1 == rows.count;
    sums = with_base(
        base, [&](auto has_base) __attribute__((always_inline)) {
          constexpr bool is_moved = takes_mean && decltype(has_base)::value;
          return is_last ? norm_row_gradient<takes_mean, is_moved, true, false>(
                               writer, NormRowSummer<T>{}, parameters, length)
                         : norm_row_gradient<takes_mean, is_moved, true, true>(
                               writer, summer(row + 1), parameters, length);
        });
  }
}
template <class T>
STRATA_INLINE void norm_gradient_rows_loop(const NormGradientRows<T>& rows, bool takes_mean,
                                           T* parameters) {
  if (takes_mean) return norm_gradient_rows_loop<true>(rows, parameters);
  norm_gradient_rows_loop<false>(rows, parameters);
}

/// So many rows are summed up at once: scales are loaded, and the gradients of scales and shifts
/// loaded and stored, once for all of them.
inline constexpr std::int64_t norm_rows_at_once = 4;

template <bool takes_mean, std::size_t... k, class T>
STRATA_INLINE void norm_row_sums_loop(const NormGradientRows<T>& rows, T* parameters,
                                      PairOfSums<T>* sums, std::index_sequence<k...>) {
  using P = NormParameters<T>;
  constexpr std::size_t count = sizeof...(k);
  const std::int64_t length = rows.length;
  const NormRowSummer<T> row[count] = {{rows.x + static_cast<std::int64_t>(k) * length,
                                        rows.dy + static_cast<std::int64_t>(k) * length,
                                        rows.statistics[2 * k], rows.statistics[2 * k + 1]}...};
  Lanes<T> first[count] = {}, second[count] = {};
  const auto add = [&](auto at, std::int64_t i, T* own, auto* firsts, auto* seconds)
      __attribute__((always_inline)) {
    typename decltype(at)::Number scale, d_scale, d_shift, number[count], d[count];
    at.load(scale, own + P::scale);
    at.load(d_scale, own + P::d_scale);
    if constexpr (takes_mean) at.load(d_shift, own + P::d_shift);
    (at.load(number[k], row[k].x + i), ...);
    (at.load(d[k], row[k].dy + i), ...);
    (row[k].template add<takes_mean>(number[k], d[k], scale, d_scale, d_shift, firsts[k],
                                     seconds[k]),
     ...);
    at.store(d_scale, own + P::d_scale);
    if constexpr (takes_mean) at.store(d_shift, own + P::d_shift);
  };
  std::int64_t i = 0;
  for (T* own = parameters; i + P::line <= length; i += P::line, own += P::step) {
    for (std::int64_t part = 0; part < P::vectors; ++part) {
      add(AtLanes<T>{part * lanes<T>}, i, own, first, second);
    }
  }
  ((sums[k] = {sum_of_lanes<T>(first + k, std::index_sequence<0>()),
               sum_of_lanes<T>(second + k, std::index_sequence<0>())}),
   ...);
  T firsts[count] = {}, seconds[count] = {};
  for (; i < length; ++i) add(AtOne<T>{0}, i, parameters + P::place(i), firsts, seconds);
  (sums[k].add({firsts[k], seconds[k]}), ...);
}
/// What NormRowSummer sums up, of at most norm_rows_at_once rows.
template <class T>
STRATA_INLINE void norm_row_sums_loop(const NormGradientRows<T>& rows, bool takes_mean,
                                      T* parameters, PairOfSums<T>* sums) {
  const auto of = [&](auto each) __attribute__((always_inline)) {
    if (takes_mean) return norm_row_sums_loop<true>(rows, parameters, sums, each);
    norm_row_sums_loop<false>(rows, parameters, sums, each);
  };
  switch (rows.count) {
    case 1: return of(std::make_index_sequence<1>());
    case 2: return of(std::make_index_sequence<2>());
    case 3: return of(std::make_index_sequence<3>());
    default: return of(std::make_index_sequence<norm_rows_at_once>());
  }
}

// Where neighbours, a plane of them, share a scale: nothing but sums and lines is left.

/// dy and x of a plane, and what is taken off x.
template <class T>
struct GradientPlane {
  const T* dy;
  const T* x;
  T base;

  /// Adds Σ dy and Σ dy·(x − base).
  template <bool has_base, class At, class Sum>
  STRATA_INLINE void add(At at, Sum& sums, Sum& products) const {
    typename At::Number d, number;
    at.load(d, dy);
    at.load(number, x);
    if constexpr (has_base) number -= base;
    sums += d;
    products += d * number;
  }
};
template <class T>
STRATA_INLINE PairOfSums<T> plane_sums_loop(const GradientPlane<T>& plane, std::int64_t count) {
  return with_base(
      plane.base, [=](auto has_base) __attribute__((always_inline)) {
        return pair_loop<T>(
            count, [=](auto at, auto& sums, auto& products) __attribute__((always_inline)) {
              plane.template add<has_base>(at, sums, products);
            });
      });
}

/// What dx = dy·factor + ((x − base)·slope + offset) of a plane is made of.
template <class T>
struct PlaneGradient : GradientPlane<T> {
  T factor, slope, offset;

  template <bool has_base, class At>
  STRATA_INLINE void write(At at, T* dx) const {
    typename At::Number d, number;
    at.load_near(d, this->dy);
    at.load_near(number, this->x);
    if constexpr (has_base) number -= this->base;
    d = d * factor + offset;
    at.store(d + number * slope, dx);
  }
};
template <class T>
STRATA_INLINE void plane_gradient_loop(const PlaneGradient<T>& plane, T* dx, std::int64_t count) {
  with_base(
      plane.base, [=](auto has_base) __attribute__((always_inline)) {
        const auto write = [=](auto at) __attribute__((always_inline)) {
          plane.template write<has_base>(at, dx);
        };
        numbers_of<T>(count, write);
      });
}

/// The same, and the sums of a plane that comes soon.
template <class T>
STRATA_INLINE PairOfSums<T> plane_gradient_and_sums_loop(const PlaneGradient<T>& plane, T* dx,
                                                         const GradientPlane<T>& next,
                                                         std::int64_t count) {
  const T any_base = plane.base != T(0) ? plane.base : next.base;
  return with_base(
      any_base, [=](auto has_base) __attribute__((always_inline)) {
        return pair_loop<T>(
            count, [=](auto at, auto& sums, auto& products) __attribute__((always_inline)) {
              plane.template write<has_base>(at, dx);
              next.template add<has_base>(at, sums, products);
            });
      });
}

}  // namespace strata::cpu_training
