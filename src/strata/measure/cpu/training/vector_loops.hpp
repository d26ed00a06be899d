// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/softmax_loops.hpp"
#include "strata/measure/cpu/training/unary_functions.hpp"

#include <array>
#include <utility>

/// Loops that gain from wide vectors, as a table of functions. They are written once, plainly; the
/// file that fills the table compiles them for each kind of vector unit.
namespace strata::cpu_training {

inline constexpr std::size_t unary_kinds = static_cast<std::size_t>(UnaryKind::logical_not) + 1;

/// So much memory is behind arrays whose loops say so: they need not see to what is left over.
inline constexpr std::int64_t room_behind = 64;

template <class T>
struct PairOfSums {
  T first = 0, second = 0;
};

/// Each row of the table is a loop below, with `_loop` after its name.
template <class T>
struct VectorLoops {
  /// Copies around the caches; null where there are no such stores.
  void (*stream)(const void* from, void* to, std::int64_t bytes);
  using Apply = void (*)(const T* x, T* y, std::int64_t count);
  using Gradient = void (*)(const T* known, const T* dy, T* dx, std::int64_t count);
  std::array<Apply, unary_kinds> apply;
  std::array<Gradient, unary_kinds> gradient;
  T (*maximum)(const T* x, std::int64_t count);
  T (*exp_shifted)(const T* x, T shift, T* y, std::int64_t count);
  RowPowers<T> (*row_powers)(const T* x, T* y, std::int64_t count, const T* fetched);
  T (*dot)(const T* a, const T* b, std::int64_t count);
  T (*sum)(const T* x, std::int64_t count);
  PairOfSums<T> (*moments)(const T* x, T base, std::int64_t count);
  PairOfSums<T> (*with_normalized)(const T* dy, const T* scale, const T* x, T mean, T factor,
                                   std::int64_t count);
  void (*line)(const T* x, T a, T b, const T* scale, const T* shift, T* y, std::int64_t count);
  void (*centred)(const T* dy, const T* scale, const T* x, T a, T mean, T slope, T offset, T factor,
                  T* dx, std::int64_t count);
  void (*add_parameters)(const T* dy, const T* x, T mean, T factor, T* d_scale, T* d_shift,
                         std::int64_t count);
  void (*drop)(const T* x, std::uint32_t key, std::uint32_t first, std::uint32_t threshold, T scale,
               T* y, std::uint8_t* mask, std::int64_t count);
  void (*keep)(const T* dy, const std::uint8_t* mask, T scale, T* dx, std::int64_t count);
  void (*prelu)(const T* x, T slope, T* y, std::int64_t count);
  T (*prelu_gradient)(const T* x, const T* dy, T slope, T* dx, std::int64_t count);
  void (*softmax_gradient)(const T* y, const T* dy, T sum, T* dx, std::int64_t count);
  void (*log_softmax_gradient)(const T* y, const T* dy, T sum, T* dx, std::int64_t count);
  void (*add_row)(const T* x, T* total, std::int64_t count);
  void (*larger)(const T* x, T* most, std::int64_t count);
  void (*multiply)(const T* a, const T* b, T* y, std::int64_t count);
  void (*subtract)(const T* a, const T* b, T* y, std::int64_t count);
  void (*add_products)(const T* a, const T* b, T* total, std::int64_t count);
  void (*exp_columns)(const T* x, const T* shifts, T* y, T* sums, std::int64_t count);
  void (*softmax_gradient_columns)(const T* y, const T* dy, const T* sums, T* dx,
                                   std::int64_t count);
  void (*log_softmax_gradient_columns)(const T* y, const T* dy, const T* sums, T* dx,
                                       std::int64_t count);
  void (*add_moments)(const T* x, const T* base, T* sums, T* squares, std::int64_t count);
  void (*add_centred)(const T* dy, const T* x, const T* mean, T* sums, T* products,
                      std::int64_t count);
  void (*centred_columns)(const T* dy, const T* x, const T* mean, const T* slope, const T* offset,
                          const T* factor, T* dx, std::int64_t count);
  void (*add_scaled)(const T* x, T factor, T* total, std::int64_t count);
  void (*respond)(const T* const* rows, std::int64_t row_count, const T* x, T k, T factor, T* y,
                  T* scale, std::int64_t count);
  void (*response_terms)(const T* dy, const T* y, const T* scale, T* ratio, T* scaled,
                         std::int64_t count);
  void (*response_gradient)(const T* const* rows, std::int64_t row_count, const T* scaled,
                            const T* x, T factor, T* dx, std::int64_t count);
  void (*largest_of_taps)(const T* x, std::int64_t taps, std::int64_t dilation, std::int64_t stride,
                          const std::int32_t* first, T* most, std::int32_t* which,
                          std::int64_t count);
  void (*larger_row)(const T* x, const std::int32_t* taps, std::int32_t before, T* most,
                     std::int32_t* which, std::int64_t count);
  void (*narrow)(const std::int32_t* numbers, std::uint8_t* bytes, std::int64_t count);
  void (*gather_taps)(const T* x, const std::int32_t* places, const T* weights, std::int64_t taps,
                      T* y, std::int64_t count);
};

/// The best for this CPU.
template <class T>
const VectorLoops<T>& vector_loops();
template <>
const VectorLoops<float>& vector_loops<float>();
template <>
const VectorLoops<double>& vector_loops<double>();

template <UnaryKind kind, class T>
STRATA_INLINE void apply_loop(const T* x, T* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = unary_value<kind>(x[i]);
}

template <UnaryKind kind, class T>
STRATA_INLINE void gradient_loop(const T* known, const T* dy, T* dx, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = unary_gradient<kind>(known[i], dy[i]);
}

/// Sums go into several numbers at once, because additions may not be reordered by the compiler:
/// vectors of 64 bytes, which are cut to what the vector unit has. A term is written once for
/// vectors and for the numbers that are left at the end; AtLanes and
/// AtOne give it either.
template <class T>
using Lanes __attribute__((vector_size(64))) = T;
template <class T>
inline constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));

template <class T>
struct AtLanes {
  using Number = Lanes<T>;
  std::int64_t place;
  STRATA_INLINE void load(Number& to, const T* from) const {
    __builtin_memcpy(&to, from + place, sizeof(Number));
  }
};
template <class T>
struct AtOne {
  using Number = T;
  std::int64_t place;
  STRATA_INLINE void load(Number& to, const T* from) const { to = from[place]; }
};

template <class T>
STRATA_INLINE T sum_of_lanes(const Lanes<T>& a, const Lanes<T>& b) {
  const Lanes<T> both = a + b;
  T total = 0;
  for (std::int64_t k = 0; k < lanes<T>; ++k) total += both[k];
  return total;
}

/// Two sums in one walk; term(at, a, b) adds to both.
template <class T, class Term>
STRATA_INLINE PairOfSums<T> pair_loop(std::int64_t count, Term term) {
  using V = Lanes<T>;
  V a0 = {}, a1 = {}, b0 = {}, b1 = {};
  std::int64_t i = 0;
  for (; i + 2 * lanes<T> <= count; i += 2 * lanes<T>) {
    term(AtLanes<T>{i}, a0, b0);
    term(AtLanes<T>{i + lanes<T>}, a1, b1);
  }
  PairOfSums<T> total{sum_of_lanes<T>(a0, a1), sum_of_lanes<T>(b0, b1)};
  for (; i < count; ++i) term(AtOne<T>{i}, total.first, total.second);
  return total;
}

template <class T, class Term>
STRATA_INLINE T one_sum_loop(std::int64_t count, Term term) {
  using V = Lanes<T>;
  V a0 = {}, a1 = {};
  std::int64_t i = 0;
  for (; i + 2 * lanes<T> <= count; i += 2 * lanes<T>) {
    term(AtLanes<T>{i}, a0);
    term(AtLanes<T>{i + lanes<T>}, a1);
  }
  T total = sum_of_lanes<T>(a0, a1);
  for (; i < count; ++i) term(AtOne<T>{i}, total);
  return total;
}

#define STRATA_INLINE_LAMBDA __attribute__((always_inline))

template <class T>
STRATA_INLINE T sum_loop(const T* x, std::int64_t count) {
  return one_sum_loop<T>(count, [x](auto at, auto& total) STRATA_INLINE_LAMBDA {
    typename decltype(at)::Number number;
    at.load(number, x);
    total += number;
  });
}

template <class T>
STRATA_INLINE T dot_loop(const T* a, const T* b, std::int64_t count) {
  return one_sum_loop<T>(count, [a, b](auto at, auto& total) STRATA_INLINE_LAMBDA {
    typename decltype(at)::Number p, q;
    at.load(p, a);
    at.load(q, b);
    total += p * q;
  });
}

template <class T>
STRATA_INLINE T maximum_loop(const T* x, std::int64_t count) {
  using V = Lanes<T>;
  T most = -std::numeric_limits<T>::infinity();
  V all = most - V{};
  std::int64_t i = 0;
  for (; i + lanes<T> <= count; i += lanes<T>) {
    V numbers;
    AtLanes<T>{i}.load(numbers, x);
    all = numbers > all ? numbers : all;
  }
  for (std::int64_t k = 0; k < lanes<T>; ++k) most = larger_of(most, all[k]);
  for (; i < count; ++i) most = larger_of(most, x[i]);
  return most;
}

/// y = exp(x − shift) with no x above shift; their sum. In pieces, so that the sum finds them in
/// the first cache.
template <class T>
STRATA_INLINE T exp_shifted_loop(const T* x, T shift, T* y, std::int64_t count) {
  constexpr std::int64_t piece = 1024;
  T total = 0;
  for (std::int64_t first = 0; first < count; first += piece) {
    const std::int64_t last = first + piece < count ? first + piece : count;
    for (std::int64_t i = first; i < last; ++i) y[i] = exp_of_small(x[i] - shift);
    total += sum_loop(y + first, last - first);
  }
  return total;
}

/// Σ (x − base), Σ (x − base)²
template <class T>
STRATA_INLINE PairOfSums<T> moments_loop(const T* x, T base, std::int64_t count) {
  return pair_loop<T>(count, [x, base](auto at, auto& a, auto& b) STRATA_INLINE_LAMBDA {
    typename decltype(at)::Number moved;
    at.load(moved, x);
    moved -= base;
    a += moved;
    b += moved * moved;
  });
}

/// Σ d, Σ d·(x − mean)·factor with d = dy·scale; no scale: 1.
template <class T>
STRATA_INLINE PairOfSums<T> with_normalized_loop(const T* dy, const T* scale, const T* x, T mean,
                                                 T factor, std::int64_t count) {
  if (scale != nullptr) {
    return pair_loop<T>(count, [=](auto at, auto& a, auto& b) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number d, factors, number;
      at.load(d, dy);
      at.load(factors, scale);
      at.load(number, x);
      d *= factors;
      a += d;
      b += d * ((number - mean) * factor);
    });
  }
  return pair_loop<T>(count, [=](auto at, auto& a, auto& b) STRATA_INLINE_LAMBDA {
    typename decltype(at)::Number d, number;
    at.load(d, dy);
    at.load(number, x);
    a += d;
    b += d * ((number - mean) * factor);
  });
}

/// y = (a x + b)·scale + shift, each number with its own; none: 1 and 0.
template <class T>
STRATA_INLINE void line_loop(const T* x, T a, T b, const T* scale, const T* shift, T* y,
                             std::int64_t count) {
  if (scale != nullptr && shift != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] * a + b) * scale[i] + shift[i];
  } else if (scale != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] * a + b) * scale[i];
  } else if (shift != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] * a + b) + shift[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * a + b;
  }
}

/// dx = (a·dy·scale − offset − (x − mean)·slope)·factor, in this order: the terms may nearly
/// cancel.
template <class T>
STRATA_INLINE void centred_loop(const T* dy, const T* scale, const T* x, T a, T mean, T slope,
                                T offset, T factor, T* dx, std::int64_t count) {
  if (scale != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) {
      dx[i] = ((dy[i] * scale[i] * a - offset) - (x[i] - mean) * slope) * factor;
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      dx[i] = ((dy[i] * a - offset) - (x[i] - mean) * slope) * factor;
    }
  }
}

/// d_scale += dy·(x − mean)·factor and d_shift += dy, number by number; null: not wanted.
template <class T>
STRATA_INLINE void add_parameters_loop(const T* dy, const T* x, T mean, T factor, T* d_scale,
                                       T* d_shift, std::int64_t count) {
  if (d_scale != nullptr && d_shift != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) {
      d_scale[i] += dy[i] * ((x[i] - mean) * factor);
      d_shift[i] += dy[i];
    }
  } else if (d_scale != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) d_scale[i] += dy[i] * ((x[i] - mean) * factor);
  } else if (d_shift != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) d_shift[i] += dy[i];
  }
}

/// Dropout of elements first, first + 1, … (their places' lower halves; none crosses 2³²).
template <class T>
STRATA_INLINE void drop_loop(const T* x, std::uint32_t key, std::uint32_t first,
                             std::uint32_t threshold, T scale, T* y,
                             std::uint8_t* __restrict__ mask, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t place = first + static_cast<std::uint32_t>(i);
    const bool is_kept = training_constants::mixed_bits(place ^ key) >= threshold;
    y[i] = is_kept ? x[i] * scale : T(0);
    mask[i] = is_kept ? 1 : 0;
  }
}

template <class T>
STRATA_INLINE void keep_loop(const T* dy, const std::uint8_t* __restrict__ mask, T scale, T* dx,
                             std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    dx[i] = dy[i] * (static_cast<T>(static_cast<std::int32_t>(mask[i])) * scale);
  }
}

#undef STRATA_INLINE_LAMBDA

}  // namespace strata::cpu_training
