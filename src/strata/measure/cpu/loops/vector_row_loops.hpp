// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/vector_loops.hpp"

/// Loops over rows of several tensors at once: what is left to do where numbers of a row, a window
/// or a column belong together.
namespace strata::cpu_training {

#define STRATA_INLINE_HERE __attribute__((always_inline))

/// y = x where x is positive, slope·x elsewhere.
template <class T>
STRATA_INLINE void prelu_loop(const T* x, T slope, T* y, std::int64_t count) {
  numbers_of<T>(count, [=](auto at) STRATA_INLINE_HERE {
    typename decltype(at)::Number number;
    at.load(number, x);
    const auto sloped = slope * number;
    at.store(pick(number > decltype(number){}, number, sloped), y);
  });
}

/// dx unless it is null, and the gradient of the slope.
template <class T>
STRATA_INLINE T prelu_gradient_loop(const T* x, const T* dy, T slope, T* dx, std::int64_t count) {
  const auto term = [=](auto at, auto& total, bool has_dx) STRATA_INLINE_HERE {
    using Number = typename decltype(at)::Number;
    Number number, d, picked;
    const Number zero{};
    at.load(number, x);
    at.load(d, dy);
    pick_to(picked, number < zero, number, zero);
    total += d * picked;
    if (!has_dx) return;
    const Number one = zero + T(1), sloped = zero + slope;
    pick_to(picked, number > zero, one, sloped);
    d *= picked;
    at.store(d, dx);
  };
  if (dx == nullptr) {
    return one_sum_loop<T>(
        count, [&](auto at, auto& total) STRATA_INLINE_HERE { term(at, total, false); });
  }
  return one_sum_loop<T>(count,
                         [&](auto at, auto& total) STRATA_INLINE_HERE { term(at, total, true); });
}

template <class T>
STRATA_INLINE void softmax_gradient_loop(const T* y, const T* dy, T sum, T* dx,
                                         std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] * (dy[i] - sum);
}

/// Gradients of rows one behind the other, each from its own sum, which the walk that writes the
/// row before takes.
template <class T>
STRATA_INLINE void softmax_gradient_rows_loop(const T* y, const T* dy, T* dx, std::int64_t rows,
                                              std::int64_t length) {
  const auto add = [](auto at, const T* of_y, const T* of_dy, auto& total) STRATA_INLINE_HERE {
    typename decltype(at)::Number number, d;
    at.load(number, of_y);
    at.load(d, of_dy);
    total += number * d;
  };
  const auto write = [](auto at, const T* of_y, const T* of_dy, T sum, T* to) STRATA_INLINE_HERE {
    typename decltype(at)::Number number, d;
    at.load_near(number, of_y);
    at.load_near(d, of_dy);
    at.store(number * (d - sum), to);
  };
  T sum = one_sum_loop<T>(length,
                          [=](auto at, auto& total) STRATA_INLINE_HERE { add(at, y, dy, total); });
  for (std::int64_t row = 1; row < rows; ++row, y += length, dy += length, dx += length) {
    sum = one_sum_loop<T>(length, [=](auto at, auto& total) STRATA_INLINE_HERE {
      write(at, y, dy, sum, dx);
      add(at, y + length, dy + length, total);
    });
  }
  numbers_of<T>(length, [=](auto at) STRATA_INLINE_HERE { write(at, y, dy, sum, dx); });
}

template <class T>
STRATA_INLINE void log_softmax_gradient_loop(const T* y, const T* dy, T sum, T* dx,
                                             std::int64_t count) {
  in_two_steps<T>(
      count,
      [=](auto at) STRATA_INLINE_HERE {
        typename decltype(at)::Number log;
        at.load(log, y);
        return start_of<SmallPower>(log);
      },
      [=](auto at, const auto& started) STRATA_INLINE_HERE {
        typename decltype(at)::Number d;
        at.load(d, dy);
        at.store(d - finish_of<SmallPower>(started) * sum, dx);
      });
}

template <class T>
STRATA_INLINE void add_row_loop(const T* x, T* total, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) total[i] += x[i];
}

/// add_row where x comes from memory, and the total stays in the first cache.
template <class T>
STRATA_INLINE void add_distant_row_loop(const T* x, T* total, std::int64_t count) {
  numbers_of<T>(count, [=](auto at) STRATA_INLINE_HERE {
    typename decltype(at)::Number number, so_far;
    at.load(number, x);
    at.load_near(so_far, total);
    at.store(so_far + number, total);
  });
}

/// to = x, and most = the larger of most and x
template <class T>
STRATA_INLINE void copy_and_larger_loop(const T* x, T* __restrict__ to, T* __restrict__ most,
                                        std::int64_t count) {
  numbers_of<T>(count, [=](auto at) STRATA_INLINE_HERE {
    typename decltype(at)::Number number, so_far;
    at.load_near(number, x);
    at.load_near(so_far, most);
    keep_larger(number, so_far);
    at.store(number, to);
    at.store(so_far, most);
  });
}

template <class T>
STRATA_INLINE void multiply_loop(const T* a, const T* b, T* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] * b[i];
}

template <class T>
STRATA_INLINE void subtract_loop(const T* a, const T* b, T* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] - b[i];
}

template <class T>
STRATA_INLINE void add_products_loop(const T* a, const T* b, T* total, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) total[i] += a[i] * b[i];
}

/// Both gradients of a·b: da = dy·b, db = dy·a.
template <class T>
STRATA_INLINE void product_gradients_loop(const T* dy, const T* a, const T* b, T* da, T* db,
                                          std::int64_t count) {
  numbers_of<T>(count, [=](auto at) STRATA_INLINE_HERE {
    typename decltype(at)::Number d, of_a, of_b;
    at.load(d, dy);
    at.load(of_a, a);
    at.load(of_b, b);
    at.store(d * of_b, da);
    at.store(d * of_a, db);
  });
}

/// The same of x·factors for a row x of many that have the same factors: dx = dy·factors, and dy·x
/// is added to the gradients of the factors.
template <class T>
STRATA_INLINE void factor_gradients_loop(const T* dy, const T* factors, const T* x, T* dx, T* sums,
                                         std::int64_t count) {
  // dx before the sums: a core that writes whole lines to memory without fetching them goes on
  // doing so only when nothing is written elsewhere before a line is complete.
  numbers_of<T>(count, [=](auto at) STRATA_INLINE_HERE {
    typename decltype(at)::Number d, factor, number, sum;
    at.load(d, dy);
    at.load(number, x);
    at.load_near(factor, factors);
    at.load_near(sum, sums);
    at.store(d * factor, dx);
    at.store(sum + d * number, sums);
  });
}

/// The same of x·factor: dx = dy·factor and Σ dy·x.
template <class T>
STRATA_INLINE T factor_gradient_loop(const T* dy, T factor, const T* x, T* dx, std::int64_t count) {
  return one_sum_loop<T>(count, [=](auto at, auto& sum) STRATA_INLINE_HERE {
    typename decltype(at)::Number d, number;
    at.load(d, dy);
    at.load(number, x);
    sum += d * number;
    at.store(d * factor, dx);
  });
}

/// exp_shifted where each number has a shift and a sum of its own.
template <class T>
STRATA_INLINE void exp_columns_loop(const T* x, const T* shifts, T* y, T* sums,
                                    std::int64_t count) {
  in_two_steps<T>(
      count,
      [=](auto at) STRATA_INLINE_HERE {
        typename decltype(at)::Number number, shift;
        at.load_near(number, x);
        at.load_near(shift, shifts);
        return start_of<SmallPower>(number - shift);
      },
      [=](auto at, const auto& started) STRATA_INLINE_HERE {
        const typename decltype(at)::Number power = finish_of<SmallPower>(started);
        typename decltype(at)::Number sum;
        at.load_near(sum, sums);
        at.store(power, y);
        at.store(sum + power, sums);
      });
}

template <class T>
STRATA_INLINE void softmax_gradient_columns_loop(const T* y, const T* dy, const T* sums, T* dx,
                                                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] * (dy[i] - sums[i]);
}

template <class T>
STRATA_INLINE void log_softmax_gradient_columns_loop(const T* y, const T* dy, const T* sums, T* dx,
                                                     std::int64_t count) {
  in_two_steps<T>(
      count,
      [=](auto at) STRATA_INLINE_HERE {
        typename decltype(at)::Number log;
        at.load(log, y);
        return start_of<SmallPower>(log);
      },
      [=](auto at, const auto& started) STRATA_INLINE_HERE {
        typename decltype(at)::Number d, sum;
        at.load(d, dy);
        at.load_near(sum, sums);
        at.store(d - finish_of<SmallPower>(started) * sum, dx);
      });
}

/// total += factor·x
template <class T>
STRATA_INLINE void add_scaled_loop(const T* x, T factor, T* total, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) total[i] += factor * x[i];
}

/// Local response normalisation: t = k + factor·Σ squares over the rows of a window, y = x·t^−¾.
template <class T>
STRATA_INLINE void respond_loop(const T* const* rows, std::int64_t row_count, const T* x, T k,
                                T factor, T* __restrict__ y, T* __restrict__ scale,
                                std::int64_t count) {
  std::int64_t i = 0;
  if constexpr (writes_vectors<T>) {
    i = fours_in_two_steps<T>(
        count,
        [=](AtFour<T> at) STRATA_INLINE_HERE {
          Four<T> t, number;
          for (std::int64_t row = 0; row < row_count; ++row) {
            at.load_near(number, rows[row]);
            t += number * number;
          }
          t = k + factor * t;
          at.store(t, scale);
          return t;
        },
        [=](AtFour<T> at, const Four<T>& t) STRATA_INLINE_HERE {
          const Four<T> root = inverse_root_of(t);
          Four<T> number;
          at.load_near(number, x);
          at.store(number * (root * root_of(root)), y);
        });
  }
  const auto finish = [&](std::int64_t place, T squares) STRATA_INLINE_HERE {
    const T t = k + factor * squares, root = inverse_fourth_root_of(t);
    scale[place] = t;
    y[place] = x[place] * (root * root * root);
  };
  if (row_count == 5) {  // the common window, away from the edges
    const T *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3], *e = rows[4];
    for (; i < count; ++i) {
      finish(i, a[i] * a[i] + b[i] * b[i] + c[i] * c[i] + d[i] * d[i] + e[i] * e[i]);
    }
    return;
  }
  for (; i < count; ++i) {
    T squares = 0;
    for (std::int64_t row = 0; row < row_count; ++row) squares += rows[row][i] * rows[row][i];
    finish(i, squares);
  }
}

/// Of its gradient: ratio = dy·y/t and scaled = dy·t^−¾.
template <class T>
STRATA_INLINE void response_terms_loop(const T* dy, const T* y, const T* scale,
                                       T* __restrict__ ratio, T* __restrict__ scaled,
                                       std::int64_t count) {
  std::int64_t i = 0;
  if constexpr (writes_vectors<T>) {
    i = fours_in_two_steps<T>(
        count,
        [=](AtFour<T> at) STRATA_INLINE_HERE {
          Four<T> t;
          at.load(t, scale);
          return inverse_root_of(t);
        },
        [=](AtFour<T> at, const Four<T>& root) STRATA_INLINE_HERE {
          Four<T> d, result;
          at.load(d, dy);
          at.load(result, y);
          at.store(result * (d * (root * root)), ratio);
          at.store(d * (root * root_of(root)), scaled);
        });
  }
  for (; i < count; ++i) {
    const T root = inverse_fourth_root_of(scale[i]), square = root * root;
    ratio[i] = dy[i] * y[i] * (square * square);
    scaled[i] = dy[i] * (square * root);
  }
}

/// dx = scaled − factor·x·Σ ratios over the rows of a window.
template <class T>
STRATA_INLINE void response_gradient_loop(const T* const* rows, std::int64_t row_count,
                                          const T* scaled, const T* x, T factor, T* __restrict__ dx,
                                          std::int64_t count) {
  if (row_count == 5) {
    const T *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3], *e = rows[4];
    for (std::int64_t i = 0; i < count; ++i) {
      dx[i] = scaled[i] - factor * x[i] * (a[i] + b[i] + c[i] + d[i] + e[i]);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    T ratios = 0;
    for (std::int64_t row = 0; row < row_count; ++row) ratios += rows[row][i];
    dx[i] = scaled[i] - factor * x[i] * ratios;
  }
}

/// The largest of the taps x[i·stride + k·dilation] and which one it is, of equals the first; what
/// is not a number counts as larger than all, as in PyTorch. `first` is said where all are −∞.
/// Behind each array there is room for room_behind numbers more, which may be read and written.
template <class T>
STRATA_INLINE void largest_of_taps_loop(const T* x, std::int64_t taps, std::int64_t dilation,
                                        std::int64_t stride, const std::int32_t* first, T* most,
                                        std::int32_t* which, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T best = -std::numeric_limits<T>::infinity();
    std::int32_t best_tap = first[i];
    for (std::int64_t k = 0; k < taps; ++k) {
      const T value = x[i * stride + k * dilation];
      // NOLINTNEXTLINE(misc-redundant-expression): what is no number is unlike itself
      const bool is_larger = (value > best) | (value != value);
      best = is_larger ? value : best;
      best_tap = is_larger ? static_cast<std::int32_t>(k) : best_tap;
    }
    most[i] = best;
    which[i] = best_tap;
  }
}

/// The larger of x and what was so far, and which tap it is: `before` more than its own number.
template <class T>
STRATA_INLINE void larger_row_loop(const T* x, const std::int32_t* taps, std::int32_t before,
                                   T* __restrict__ most, std::int32_t* __restrict__ which,
                                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    // NOLINTNEXTLINE(misc-redundant-expression): what is no number is unlike itself
    const bool is_larger = (x[i] > most[i]) | (x[i] != x[i]);
    which[i] = is_larger ? before + taps[i] : which[i];
    most[i] = is_larger ? x[i] : most[i];
  }
}

template <class T>
STRATA_INLINE void narrow_loop(const std::int32_t* numbers, std::uint8_t* bytes,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(numbers[i]);
}

/// y[i] = Σ weights[k·count + i]·x[places[k·count + i]]
template <class T>
STRATA_INLINE void gather_taps_loop(const T* x, const std::int32_t* places, const T* weights,
                                    std::int64_t taps, T* y, std::int64_t count) {
  if (taps == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = weights[i] * x[places[i]];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = weights[i] * x[places[i]] + weights[count + i] * x[places[count + i]];
  }
  for (std::int64_t k = 2; k < taps; ++k) {
    const T* const weight = weights + k * count;
    const std::int32_t* const place = places + k * count;
    for (std::int64_t i = 0; i < count; ++i) y[i] += weight[i] * x[place[i]];
  }
}

#undef STRATA_INLINE_HERE

}  // namespace strata::cpu_training
