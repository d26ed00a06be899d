// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/lanes.hpp"

#include <array>
#include <cstdint>
#include <limits>

/// The loops of softmax over numbers side by side.
namespace strata::cpu_training {

/// Powers of e of a row's numbers less the largest of them, which sum up to `sum`.
template <class T>
struct RowPowers {
  T most = -std::numeric_limits<T>::infinity(), sum = 0;
};

/// So many vectors' worth of numbers at once: sums and maxima of one after the other would wait for
/// each other.
template <class T>
inline constexpr std::size_t block = 256 / sizeof(T);

/// combine(…) of all numbers, halves of them at a time; the numbers are used up.
template <std::size_t count, class T, class Combine>
STRATA_INLINE T combined(T* numbers, Combine combine) {
  if constexpr (count == 1) {
    return numbers[0];
  } else {
    constexpr std::size_t half = count / 2;
    for (std::size_t k = 0; k < half; ++k) numbers[k] = combine(numbers[k], numbers[k + half]);
    return combined<half>(numbers, combine);
  }
}

template <class T>
STRATA_INLINE T largest_loop(const T* x, std::int64_t count) {
  if constexpr (writes_vectors<T>) return maximum_loop(x, count);
  constexpr auto step = static_cast<std::int64_t>(block<T>);
  std::array<T, block<T>> most;
  for (T& number : most) number = -std::numeric_limits<T>::infinity();
  std::int64_t i = 0;
  for (; i + step <= count; i += step) {
    for (std::size_t k = 0; k < block<T>; ++k) {
      const T number = x[i + static_cast<std::int64_t>(k)];
      most[k] = number > most[k] ? number : most[k];
    }
  }
  for (std::size_t k = 0; i < count; ++i, ++k) most[k] = larger_of(x[i], most[k]);
  return combined<block<T>>(most.data(), [](T a, T b) { return a > b ? a : b; });
}

/// y = exp(x − shift) with no x above shift; their sum. For vectors that are written as such.
template <class T>
STRATA_INLINE T powers_by_four(const T* x, T shift, T* __restrict__ y, std::int64_t count) {
  Lanes<T> sums[1] = {};
  T total = 0;
  four_in_two_steps<T>(
      count,
      [=](auto at) __attribute__((always_inline)) {
        typename decltype(at)::Number number;
        at.load(number, x);
        return SmallPower::start(number - shift);
      },
      [&](auto at, const auto& started) __attribute__((always_inline)) {
        const auto power = SmallPower::finish(started);
        at.store(power, y);
        if constexpr (is_four<std::remove_cvref_t<decltype(power)>>) {
          sums[0] += (power.a + power.b) + (power.c + power.d);
        } else {
          total += power;
        }
      });
  return total + sum_of_lanes<T>(sums, std::index_sequence<0>());
}

/// y = exp(x − max x). `fetched`: numbers that are needed soon, as many, or null.
template <class T>
STRATA_INLINE RowPowers<T> row_powers_loop(const T* x, T* __restrict__ y, std::int64_t count,
                                           const T* fetched) {
  constexpr auto step = static_cast<std::int64_t>(block<T>);
  RowPowers<T> result;
  result.most = largest_loop(x, count);
  // Where all are masked there is nothing to take away: −∞ less −∞ is not a number.
  const T shift = result.most > -std::numeric_limits<T>::infinity() ? result.most : T(0);
  if constexpr (writes_vectors<T>) {
    result.sum = powers_by_four(x, shift, y, count);
    return result;
  }
  std::array<T, block<T>> sums{};
  std::int64_t i = 0;
  for (; i + step <= count; i += step) {
    if (fetched != nullptr) {
      for (std::int64_t k = 0; k < step; k += step / 4) __builtin_prefetch(fetched + i + k, 0, 3);
    }
    for (std::size_t k = 0; k < block<T>; ++k) {
      const std::int64_t at = i + static_cast<std::int64_t>(k);
      const T power = exp_of_small(x[at] - shift);
      y[at] = power;
      sums[k] += power;
    }
  }
  std::array<T, block<T>> left{};
  for (std::size_t k = 0; i + static_cast<std::int64_t>(k) < count; ++k) {
    const std::int64_t at = i + static_cast<std::int64_t>(k);
    y[at] = left[k] = exp_of_small(x[at] - shift);
  }
  for (std::size_t k = 0; k < block<T>; ++k) sums[k] += left[k];
  result.sum = combined<block<T>>(sums.data(), [](T a, T b) { return a + b; });
  return result;
}

}  // namespace strata::cpu_training
