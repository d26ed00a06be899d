// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/channel_row_loops.hpp"
#include "strata/measure/cpu/loops/dropout_loops.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/loops/row_norm_loops.hpp"
#include "strata/measure/cpu/loops/softmax_loops.hpp"
#include "strata/measure/cpu/loops/stretch_loops.hpp"
#include "strata/measure/cpu/loops/unary_functions.hpp"

#include <array>
#include <utility>

/// Loops that gain from wide vectors, as a table of functions. They are written once, plainly; the
/// file that fills the table compiles them for each kind of vector unit.
namespace strata::cpu_training {

inline constexpr std::size_t unary_kinds = static_cast<std::size_t>(UnaryKind::logical_not) + 1;

/// So much memory is behind arrays whose loops say so: they need not see to what is left over.
inline constexpr std::int64_t room_behind = 64;

/// dx = (a·dy·scale − offset − (x − mean)·slope)·factor of a row.
template <class T>
struct GradientRow {
  const T* dy = nullptr;
  const T* scale = nullptr;  ///< null: 1
  const T* x = nullptr;
  T a = 1, mean = 0, slope = 0, offset = 0, factor = 1;
};

/// A row whose statistics are taken while the row before it is written: memory has something to
/// read and something to write at any time.
template <class T>
struct NextRow {
  const T* x = nullptr;
  const T* dy = nullptr;     ///< in backward
  const T* scale = nullptr;  ///< of dy; null: 1
  T base = 0;                ///< what is taken off x
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
  PairOfSums<T> (*line_and_moments)(const T* x, T a, T b, const T* scale, const T* shift, T* y,
                                    const NextRow<T>& next, std::int64_t count);
  void (*line_while_fetching)(const T* x, T a, T b, const T* scale, const T* shift, T* y,
                              const T* fetched, std::int64_t count);
  void (*centred)(const GradientRow<T>& row, T* dx, std::int64_t count);
  PairOfSums<T> (*centred_and_sums)(const GradientRow<T>& row, T* dx, const NextRow<T>& next,
                                    std::int64_t count);
  void (*add_parameters)(const T* dy, const T* x, T mean, T factor, T* d_scale, T* d_shift,
                         std::int64_t count);
  void (*norm_gradient_rows)(const NormGradientRows<T>& rows, bool takes_mean, T* parameters);
  void (*norm_row_sums)(const NormGradientRows<T>& rows, bool takes_mean, T* parameters,
                        PairOfSums<T>* sums);
  PairOfSums<T> (*plane_sums)(const GradientPlane<T>& plane, std::int64_t count);
  void (*plane_gradient)(const PlaneGradient<T>& plane, T* dx, std::int64_t count);
  PairOfSums<T> (*plane_gradient_and_sums)(const PlaneGradient<T>& plane, T* dx,
                                           const GradientPlane<T>& next, std::int64_t count);
  void (*add_channel_rows)(const T* x, const T* dy, const RowSequences& s, std::int64_t channels,
                           bool has_base, T* sums);
  void (*channel_lines)(const T* x, const T* dy, const T* lines, T* y, std::int64_t rows,
                        std::int64_t channels);
  void (*drop)(const T* x, std::uint32_t key, std::uint64_t first, std::uint32_t threshold, T scale,
               T* y, std::uint8_t* mask, std::int64_t count);
  void (*keep)(const T* dy, const std::uint8_t* mask, T scale, T* dx, std::int64_t count);
  void (*prelu)(const T* x, T slope, T* y, std::int64_t count);
  T (*prelu_gradient)(const T* x, const T* dy, T slope, T* dx, std::int64_t count);
  void (*softmax_gradient)(const T* y, const T* dy, T sum, T* dx, std::int64_t count);
  void (*softmax_gradient_rows)(const T* y, const T* dy, T* dx, std::int64_t rows,
                                std::int64_t length);
  void (*log_softmax_gradient)(const T* y, const T* dy, T sum, T* dx, std::int64_t count);
  void (*add_row)(const T* x, T* total, std::int64_t count);
  void (*add_distant_row)(const T* x, T* total, std::int64_t count);
  void (*copy_and_larger)(const T* x, T* to, T* most, std::int64_t count);
  void (*multiply)(const T* a, const T* b, T* y, std::int64_t count);
  void (*subtract)(const T* a, const T* b, T* y, std::int64_t count);
  void (*add_products)(const T* a, const T* b, T* total, std::int64_t count);
  void (*product_gradients)(const T* dy, const T* a, const T* b, T* da, T* db, std::int64_t count);
  void (*factor_gradients)(const T* dy, const T* factors, const T* x, T* dx, T* sums,
                           std::int64_t count);
  T (*factor_gradient)(const T* dy, T factor, const T* x, T* dx, std::int64_t count);
  void (*exp_columns)(const T* x, const T* shifts, T* y, T* sums, std::int64_t count);
  void (*softmax_gradient_columns)(const T* y, const T* dy, const T* sums, T* dx,
                                   std::int64_t count);
  void (*log_softmax_gradient_columns)(const T* y, const T* dy, const T* sums, T* dx,
                                       std::int64_t count);
  void (*stretch_moments)(const T* x, const Stretches& s, const T* base, T* sums);
  void (*stretch_products)(const T* dy, const T* x, const Stretches& s, const T* base, T* sums);
  void (*stretch_lines)(const T* x, const Stretches& s, const T* a, const T* b, T* y);
  void (*stretch_gradients)(const T* dy, const T* x, const Stretches& s,
                            const StretchGradients<T>& of, T* dx);
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

#define STRATA_INLINE_LAMBDA __attribute__((always_inline))

template <UnaryKind kind, class T>
STRATA_INLINE void apply_loop(const T* x, T* y, std::int64_t count) {
  if constexpr (writes_vectors<T> && has_power(kind)) {
    return four_in_two_steps<T>(
        count,
        [=](auto at) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number number;
          at.load(number, x);
          return PowerIn<kind>::start(exponent_in<kind>(number));
        },
        [=](auto at, const auto& started) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number number;
          at.load_near(number, x);
          at.store(value_of_power<kind>(PowerIn<kind>::finish(started), number), y);
        });
  }
  if constexpr (writes_vectors<T> && has_ratio(kind)) {
    return four_in_two_steps<T>(
        count,
        [=](auto at) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number number;
          at.load(number, x);
          return ratio_in<kind>(number);
        },
        [=](auto at, const auto& ratio) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number number;
          at.load_near(number, x);
          at.store(value_of_ratio<kind>(value_of(ratio), number), y);
        });
  }
  if constexpr (writes_vectors<T> && takes_vectors(kind)) {
    return four_by_four<T>(count, [=](auto at) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number number;
      at.load(number, x);
      at.store(unary_value<kind>(number), y);
    });
  }
  for (std::int64_t i = 0; i < count; ++i) y[i] = unary_value<kind>(x[i]);
}

template <UnaryKind kind, class T>
STRATA_INLINE void gradient_loop(const T* known, const T* dy, T* dx, std::int64_t count) {
  if constexpr (writes_vectors<T> && slope_has_power(kind)) {
    return four_in_two_steps<T>(
        count,
        [=](auto at) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number number;
          at.load(number, known);
          return PowerIn<kind>::start(exponent_in<kind>(number));
        },
        [=](auto at, const auto& started) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number number, d;
          at.load_near(number, known);
          at.load(d, dy);
          at.store(gradient_of_power<kind>(PowerIn<kind>::finish(started), number, d), dx);
        });
  }
  if constexpr (writes_vectors<T> && slope_has_ratio(kind)) {
    return four_in_two_steps<T>(
        count,
        [=](auto at) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number number;
          at.load(number, known);
          return ratio_in_slope<kind>(number);
        },
        [=](auto at, const auto& ratio) STRATA_INLINE_LAMBDA {
          typename decltype(at)::Number d;
          at.load(d, dy);
          at.store(gradient_of_ratio(value_of(ratio), d), dx);
        });
  }
  if constexpr (writes_vectors<T> && takes_vectors(kind)) {
    return four_by_four<T>(count, [=](auto at) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number number, d;
      at.load(number, known);
      at.load(d, dy);
      at.store(unary_gradient<kind>(number, d), dx);
    });
  }
  for (std::int64_t i = 0; i < count; ++i) dx[i] = unary_gradient<kind>(known[i], dy[i]);
}

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

/// y = exp(x − shift) with no x above shift; their sum. In pieces, so that the sum finds them in
/// the first cache.
template <class T>
STRATA_INLINE T exp_shifted_loop(const T* x, T shift, T* y, std::int64_t count) {
  if constexpr (writes_vectors<T>) return powers_by_four(x, shift, y, count);
  constexpr std::int64_t piece = 1024;
  T total = 0;
  for (std::int64_t first = 0; first < count; first += piece) {
    const std::int64_t last = first + piece < count ? first + piece : count;
    numbers_of<T>(last - first, [=](auto at) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number number;
      at.load(number, x + first);
      at.store(exp_of_small(number - shift), y + first);
    });
    total += sum_loop(y + first, last - first);
  }
  return total;
}

/// Σ (x − base), Σ (x − base)²
template <class T>
STRATA_INLINE PairOfSums<T> moments_loop(const T* x, T base, std::int64_t count) {
  return with_base(base, [=](auto has_base) STRATA_INLINE_LAMBDA {
    return pair_loop<T>(count, [=](auto at, auto& a, auto& b) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number moved;
      at.load(moved, x);
      if constexpr (has_base) moved -= base;
      a += moved;
      b += moved * moved;
    });
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

/// Of x = a·x + b makes x·scale + shift by finish(at, x), as there are scales and shifts.
template <class T, class Work>
STRATA_INLINE auto with_scale_and_shift(const T* scale, const T* shift, Work work) {
  if (scale != nullptr && shift != nullptr) {
    return work([=](auto at, auto& number) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number factor, offset;
      at.load_near(factor, scale);
      at.load_near(offset, shift);
      number = number * factor + offset;
    });
  }
  if (scale != nullptr) {
    return work([=](auto at, auto& number) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number factor;
      at.load_near(factor, scale);
      number *= factor;
    });
  }
  if (shift != nullptr) {
    return work([=](auto at, auto& number) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number offset;
      at.load_near(offset, shift);
      number += offset;
    });
  }
  return work([](auto, auto&) STRATA_INLINE_LAMBDA {});
}

/// line, and asks for as many numbers that are needed soon. Without an offset, b is 0.
template <bool has_offset, class T>
STRATA_INLINE void line_while_fetching_loop(const T* x, T a, [[maybe_unused]] T b, const T* scale,
                                            const T* shift, T* y, const T* fetched,
                                            std::int64_t count) {
  with_scale_and_shift(scale, shift, [=](auto finish) STRATA_INLINE_LAMBDA {
    const auto write = [=](auto at) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number number;
      at.load(number, x);
      number *= a;
      if constexpr (has_offset) number += b;
      finish(at, number);
      at.store(number, y);
    };
    constexpr std::int64_t line = InTurn<T>::line;
    std::int64_t i = 0;
    for (; i + line <= count; i += line) {
      __builtin_prefetch(fetched + i, 0, 2);
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < line; k += lanes<T>) write(AtLanes<T>{i + k});
    }
    for (; i < count; ++i) write(AtOne<T>{i});
  });
}
template <class T>
STRATA_INLINE void line_while_fetching_loop(const T* x, T a, T b, const T* scale, const T* shift,
                                            T* y, const T* fetched, std::int64_t count) {
  if (b != T(0)) {
    return line_while_fetching_loop<true>(x, a, b, scale, shift, y, fetched, count);
  }
  line_while_fetching_loop<false>(x, a, b, scale, shift, y, fetched, count);
}

/// line, and the moments of another row.
template <class T>
STRATA_INLINE PairOfSums<T> line_and_moments_loop(const T* x, T a, T b, const T* scale,
                                                  const T* shift, T* y, const NextRow<T>& next,
                                                  std::int64_t count) {
  const T *const next_x = next.x, base = next.base;
  return with_base(base, [=](auto has_base) STRATA_INLINE_LAMBDA {
    return with_scale_and_shift(scale, shift, [=](auto finish) STRATA_INLINE_LAMBDA {
      return pair_loop<T>(count, [=](auto at, auto& sums, auto& squares) STRATA_INLINE_LAMBDA {
        typename decltype(at)::Number moved, number;
        at.load(moved, next_x);
        if constexpr (has_base) moved -= base;
        sums += moved;
        squares += moved * moved;
        at.load_near(number, x);
        number = number * a + b;
        finish(at, number);
        at.store(number, y);
      });
    });
  });
}

/// dx of a row, in this order: the terms may nearly cancel.
template <class T>
STRATA_INLINE void centred_loop(const GradientRow<T>& row, T* dx, std::int64_t count) {
  const T *const dy = row.dy, *const scale = row.scale, *const x = row.x;
  const T a = row.a, mean = row.mean, slope = row.slope, offset = row.offset, factor = row.factor;
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

/// centred, and with d = dy·scale of another row Σ d and Σ d·(x − base).
template <bool has_scale, class T>
STRATA_INLINE PairOfSums<T> centred_and_sums_loop(const GradientRow<T>& row, T* dx,
                                                  const NextRow<T>& next, std::int64_t count) {
  return pair_loop<T>(count, [=](auto at, auto& sums, auto& products) STRATA_INLINE_LAMBDA {
    typename decltype(at)::Number d, number, other;
    at.load(d, next.dy);
    at.load(number, next.x);
    if constexpr (has_scale) {
      at.load_near(other, next.scale);
      d *= other;
    }
    sums += d;
    products += d * (number - next.base);
    at.load_near(d, row.dy);
    at.load_near(number, row.x);
    number -= row.mean;
    if constexpr (has_scale) {
      at.load_near(other, row.scale);
      d *= other;
    }
    d = ((d * row.a - row.offset) - number * row.slope) * row.factor;
    at.store(d, dx);
  });
}
template <class T>
STRATA_INLINE PairOfSums<T> centred_and_sums_loop(const GradientRow<T>& row, T* dx,
                                                  const NextRow<T>& next, std::int64_t count) {
  if (row.scale != nullptr) return centred_and_sums_loop<true>(row, dx, next, count);
  return centred_and_sums_loop<false>(row, dx, next, count);
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

#undef STRATA_INLINE_LAMBDA

}  // namespace strata::cpu_training
