// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/unary_functions.hpp"

#include <array>
#include <utility>

/// Loops that gain from wide vectors, as a table of functions. They are written once, plainly; the
/// file that fills the table compiles them for each kind of vector unit.
namespace strata::cpu_training {

inline constexpr std::size_t unary_kinds = static_cast<std::size_t>(UnaryKind::logical_not) + 1;

template <class T>
struct VectorLoops {
  using Apply = void (*)(const T* x, T* y, std::int64_t count);
  using Gradient = void (*)(const T* known, const T* dy, T* dx, std::int64_t count);
  std::array<Apply, unary_kinds> apply;
  std::array<Gradient, unary_kinds> gradient;
  T (*maximum)(const T* x, std::int64_t count);
  T (*exp_shifted)(const T* x, T shift, T* y, std::int64_t count);  ///< exp(x − shift); their sum
  T (*dot)(const T* a, const T* b, std::int64_t count);
  T (*sum)(const T* x, std::int64_t count);
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

/// Sums go into several numbers at once, because additions may not be reordered by the compiler.
inline constexpr std::int64_t side_by_side = 16;

template <class T, class Term>
STRATA_INLINE T sum_loop(std::int64_t count, Term term) {
  T sums[side_by_side] = {};
  const std::int64_t whole = count / side_by_side * side_by_side;
  for (std::int64_t i = 0; i < whole; i += side_by_side) {
    for (std::int64_t k = 0; k < side_by_side; ++k) sums[k] += term(i + k);
  }
  for (std::int64_t i = whole; i < count; ++i) sums[i - whole] += term(i);
  T total = 0;
  for (std::int64_t k = 0; k < side_by_side; ++k) total += sums[k];
  return total;
}

template <class T>
STRATA_INLINE T maximum_loop(const T* x, std::int64_t count) {
  T most[side_by_side];
  for (T& each : most) each = -std::numeric_limits<T>::infinity();
  const std::int64_t whole = count / side_by_side * side_by_side;
  for (std::int64_t i = 0; i < whole; i += side_by_side) {
    for (std::int64_t k = 0; k < side_by_side; ++k) most[k] = larger_of(most[k], x[i + k]);
  }
  for (std::int64_t i = whole; i < count; ++i) most[0] = larger_of(most[0], x[i]);
  for (std::int64_t k = 1; k < side_by_side; ++k) most[0] = larger_of(most[0], most[k]);
  return most[0];
}

template <class T>
STRATA_INLINE T exp_shifted_loop(const T* x, T shift, T* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = exp_of(x[i] - shift);
  return sum_loop<T>(
      count, [y](std::int64_t i) __attribute__((always_inline)) { return y[i]; });
}

template <class T>
STRATA_INLINE T dot_loop(const T* a, const T* b, std::int64_t count) {
  return sum_loop<T>(
      count, [ a, b ](std::int64_t i) __attribute__((always_inline)) { return a[i] * b[i]; });
}

template <class T>
STRATA_INLINE T plain_sum_loop(const T* x, std::int64_t count) {
  return sum_loop<T>(
      count, [x](std::int64_t i) __attribute__((always_inline)) { return x[i]; });
}

}  // namespace strata::cpu_training
