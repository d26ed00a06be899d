// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/lanes.hpp"

/// Loops over short stretches of numbers that lie side by side, each stretch with constants of its
/// own: the channels of a sample where their space is small. A call for each would take longer than
/// its numbers.
namespace strata::cpu_training {

struct Stretches {
  std::int64_t count = 0, length = 0;
};

#define STRATA_INLINE_LAMBDA __attribute__((always_inline))

/// Calls work(at, k) for whole vectors of the numbers begin … end, with k = 0 and 1 in turn; the
/// first number that is in none.
template <class T, class Work>
STRATA_INLINE std::int64_t vectors_of_stretch(std::int64_t begin, std::int64_t end, Work work) {
  std::int64_t i = begin;
  for (; i + 4 * lanes<T> <= end; i += 4 * lanes<T>) {
    work(AtLine<T>{{i}}, 0);
    work(AtLanes<T>{i + lanes<T>}, 1);
    work(AtLanes<T>{i + 2 * lanes<T>}, 0);
    work(AtLanes<T>{i + 3 * lanes<T>}, 1);
  }
  for (; i + lanes<T> <= end; i += lanes<T>) work(AtLanes<T>{i}, 0);
  return i;
}

/// Calls work(at) for all numbers of stretch k.
template <class T, class Work>
STRATA_INLINE void numbers_of_stretch(const Stretches& s, std::int64_t k, Work work) {
  const std::int64_t begin = k * s.length, end = begin + s.length;
  std::int64_t i =
      vectors_of_stretch<T>(begin, end, [&](auto at, int) STRATA_INLINE_LAMBDA { work(at); });
  for (; i < end; ++i) work(AtOne<T>{i});
}

/// Two sums for each stretch, in `lanes` numbers each that the caller adds up in the end:
/// term(k, at, a, b) adds to both.
template <class T, class Term>
STRATA_INLINE void add_to_stretch_sums(const Stretches& s, T* first, T* second, Term term) {
  for (std::int64_t k = 0; k < s.count; ++k) {
    const AtLanes<T> own{k * lanes<T>};
    // Two of each, as one addition waits for the last.
    Lanes<T> a[2] = {}, b[2] = {};
    own.load(a[0], first);
    own.load(b[0], second);
    const std::int64_t begin = k * s.length, end = begin + s.length;
    std::int64_t i = vectors_of_stretch<T>(
        begin, end,
        [&](auto at, int which) STRATA_INLINE_LAMBDA { term(k, at, a[which], b[which]); });
    // What is left joins a vector, as a number that is read where a vector was just written waits.
    Lanes<T> rest_a = {}, rest_b = {};
    T rest = 0, other = 0;
    for (; i < end; ++i) term(k, AtOne<T>{i}, rest, other);
    rest_a[0] = rest;
    rest_b[0] = other;
    own.store(a[0] + a[1] + rest_a, first);
    own.store(b[0] + b[1] + rest_b, second);
  }
}

/// Σ (x − base), Σ (x − base)²
template <class T>
STRATA_INLINE void stretch_moments_loop(const T* x, const Stretches& s, const T* base, T* sums,
                                        T* squares) {
  add_to_stretch_sums(s, sums, squares,
                      [=](std::int64_t k, auto at, auto& a, auto& b) STRATA_INLINE_LAMBDA {
                        typename decltype(at)::Number moved;
                        at.load(moved, x);
                        moved -= base[k];
                        a += moved;
                        b += moved * moved;
                      });
}

/// Σ dy, Σ dy·(x − mean)
template <class T>
STRATA_INLINE void stretch_products_loop(const T* dy, const T* x, const Stretches& s, const T* mean,
                                         T* sums, T* products) {
  add_to_stretch_sums(s, sums, products,
                      [=](std::int64_t k, auto at, auto& a, auto& b) STRATA_INLINE_LAMBDA {
                        typename decltype(at)::Number d, number;
                        at.load(d, dy);
                        at.load(number, x);
                        a += d;
                        b += d * (number - mean[k]);
                      });
}

/// y = x·a + b
template <class T>
STRATA_INLINE void stretch_lines_loop(const T* x, const Stretches& s, const T* a, const T* b,
                                      T* y) {
  for (std::int64_t k = 0; k < s.count; ++k) {
    const T slope = a[k], offset = b[k];
    numbers_of_stretch<T>(s, k, [=](auto at) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number number;
      at.load(number, x);
      at.store(number * slope + offset, y);
    });
  }
}

/// What the gradient of a stretch needs: dx = ((dy − offset) − (x − mean)·slope)·factor.
template <class T>
struct StretchGradients {
  const T *mean = nullptr, *slope = nullptr, *offset = nullptr, *factor = nullptr;
};

template <class T>
STRATA_INLINE void stretch_centred_loop(const T* dy, const T* x, const Stretches& s,
                                        const StretchGradients<T>& of, T* dx) {
  for (std::int64_t k = 0; k < s.count; ++k) {
    const T mean = of.mean[k], slope = of.slope[k], offset = of.offset[k], factor = of.factor[k];
    numbers_of_stretch<T>(s, k, [=](auto at) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number d, number;
      at.load(d, dy);
      at.load(number, x);
      at.store(((d - offset) - (number - mean) * slope) * factor, dx);
    });
  }
}

#undef STRATA_INLINE_LAMBDA

}  // namespace strata::cpu_training
