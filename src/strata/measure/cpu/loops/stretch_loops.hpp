// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/lanes.hpp"

#include <type_traits>

/// Loops over short stretches of numbers that lie side by side, each stretch with constants of its
/// own: the channels of a sample where their space is small. A call for each would take longer than
/// its numbers.
namespace strata::cpu_training {

/// `count` stretches of `length` numbers in each sample, of which one begins `step` numbers after
/// the other. Loops have a copy of their own: what lies in memory might be what they store, and be
/// read again after each stretch.
struct Stretches {
  std::int64_t count = 0, length = 0;
  std::int64_t samples = 1, step = 0;
};

#define STRATA_INLINE_LAMBDA __attribute__((always_inline))

/// Whether stretches are so short that what is done once for each of them counts. Only where
/// vectors are short as well.
STRATA_INLINE bool is_short([[maybe_unused]] const Stretches& s) {
#ifdef __aarch64__
  return s.length < 256;
#else
  return false;
#endif
}

/// How lines are asked for (ask_after): line by line on the way, or before a stretch begins. The
/// latter is for short ones, as few of their vectors begin a line; where two tensors are read,
/// there is no time for it.
enum class Asking { along, before };

/// Calls work(asking) with the one that is best, as a constant.
template <bool has_dy, class Work>
STRATA_INLINE void with_asking(const Stretches& s, Work work) {
  if constexpr (!has_dy) {
    if (is_short(s)) return work(std::integral_constant<Asking, Asking::before>());
  }
  work(std::integral_constant<Asking, Asking::along>());
}

/// Asks for what follows the stretches later.
template <Asking asking, class T>
STRATA_INLINE void ask_before(const T* begin, std::int64_t length) {
  if constexpr (asking == Asking::before) {
    for (std::int64_t i = 0; i < length; i += InTurn<T>::line) ask_after(begin + i);
  }
}

/// A stretch has so many of each sum, as one addition waits for the last.
inline constexpr std::size_t sums_at_once = lane_bytes == 16 ? 4 : 2;
template <std::size_t k>
using Which = std::integral_constant<std::size_t, k>;

/// Calls work(at, which) for whole vectors of the numbers begin … end, each with one of the sums in
/// turn; the first number that is in none.
template <Asking asking, class T, class Work>
STRATA_INLINE std::int64_t vectors_of_stretch(std::int64_t begin, std::int64_t end, Work work) {
  using First = std::conditional_t<asking == Asking::along, AtLine<T>, AtLanes<T>>;
  constexpr std::size_t which_2 = 2 % sums_at_once, which_3 = 3 % sums_at_once;
  std::int64_t i = begin;
  for (; i + 4 * lanes<T> <= end; i += 4 * lanes<T>) {
    First first;
    first.place = i;
    work(first, Which<0>());
    work(AtLanes<T>{i + lanes<T>}, Which<1>());
    work(AtLanes<T>{i + 2 * lanes<T>}, Which<which_2>());
    work(AtLanes<T>{i + 3 * lanes<T>}, Which<which_3>());
  }
  for (; i + lanes<T> <= end; i += lanes<T>) work(AtLanes<T>{i}, Which<0>());
  return i;
}

/// Calls work(at) for the numbers begin … end, fewer than a vector has: up to three are written
/// out, as compilers would make vectors of a loop over them.
template <class T, class Work>
STRATA_INLINE void rest_of_stretch(std::int64_t begin, std::int64_t end, Work work) {
  if constexpr (lanes<T> <= 4) {
    if (begin < end) work(AtOne<T>{begin});
    if (begin + 1 < end) work(AtOne<T>{begin + 1});
    if (begin + 2 < end) work(AtOne<T>{begin + 2});
  } else {
    for (std::int64_t i = begin; i < end; ++i) work(AtOne<T>{i});
  }
}

/// Four vectors of a stretch; the first begins a line.
template <Asking asking, class T>
struct FourOfStretch : AtFour<T> {
  STRATA_INLINE void load(Four<T>& to, const T* from) const {
    if constexpr (asking == Asking::along) ask_after(from + this->place);
    this->load_near(to, from);
  }
};

/// Calls work(at) for all numbers of stretch k, which it reads and writes. NEON's vectors go four
/// by four: a core that has to store each before the next one is loaded takes half as long again.
template <Asking asking, class T, class Work>
STRATA_INLINE void numbers_of_stretch(const Stretches& s, std::int64_t k, Work work) {
  std::int64_t i = k * s.length;
  const std::int64_t end = i + s.length;
  if constexpr (lane_bytes == 16) {
    for (; i + 4 * lanes<T> <= end; i += 4 * lanes<T>) {
      FourOfStretch<asking, T> four;
      four.place = i;
      work(four);
    }
  }
  const std::int64_t rest =
      vectors_of_stretch<asking, T>(i, end, [&](auto at, auto) STRATA_INLINE_LAMBDA { work(at); });
  rest_of_stretch<T>(rest, end, work);
}

/// Adds stretch k of several samples to its two sums (add_to_stretch_sums).
template <Asking asking, bool has_dy, bool has_base, class T>
STRATA_INLINE void add_to_sums_of(const Stretches& s, std::int64_t k, const T* x, const T* dy,
                                  [[maybe_unused]] T base, T* sums) {
  const auto term = [=](auto at, auto& sum, auto& product) STRATA_INLINE_LAMBDA {
    typename decltype(at)::Number number, d;
    at.load(number, x);
    if constexpr (has_base) number -= base;
    if constexpr (has_dy) {
      at.load(d, dy);
    } else {
      d = number;
    }
    sum += d;
    product += number * d;
  };
  const AtLanes<T> first{2 * k * lanes<T>}, second{first.place + lanes<T>};
  Lanes<T> a[sums_at_once] = {}, b[sums_at_once] = {};
  first.load(a[0], sums);
  second.load(b[0], sums);
  T rest = 0, other = 0;
  for (std::int64_t n = 0; n < s.samples; ++n) {
    const std::int64_t begin = n * s.step + k * s.length, end = begin + s.length;
    ask_before<asking>(x + begin, s.length);
    const std::int64_t left = vectors_of_stretch<asking, T>(
        begin, end,
        [&](auto at, auto which) STRATA_INLINE_LAMBDA { term(at, a[which()], b[which()]); });
    rest_of_stretch<T>(left, end, [&](auto at) STRATA_INLINE_LAMBDA { term(at, rest, other); });
  }
  // What is left joins a vector, as a number that is read where a vector was just written waits.
  Lanes<T> rest_a = {}, rest_b = {};
  rest_a[0] = rest;
  rest_b[0] = other;
  for (std::size_t which = 1; which < sums_at_once; ++which) {
    rest_a += a[which];
    rest_b += b[which];
  }
  first.store(a[0] + rest_a, sums);
  second.store(b[0] + rest_b, sums);
}

/// Two sums for each stretch, one behind the other, in `lanes` numbers each that the caller adds up
/// in the end: Σ (x − base) and Σ (x − base)², or, with dy, Σ dy and Σ dy·(x − base). Bases are
/// mostly 0, which saves a third of the work. Where stretches are short, several samples are taken
/// at once: their sums are read and written once for all of them.
template <bool has_dy, class T>
STRATA_INLINE void add_to_stretch_sums(Stretches s, const T* x, const T* dy, const T* base,
                                       T* sums) {
  const std::int64_t at_once = !is_short(s) ? 1 : has_dy ? 2 : 4;
  with_asking<has_dy>(s, [=](auto asking) STRATA_INLINE_LAMBDA {
    for (std::int64_t n = 0; n < s.samples; n += at_once) {
      const std::int64_t at = n * s.step;
      Stretches some = s;
      some.samples = at_once < s.samples - n ? at_once : s.samples - n;
      for (std::int64_t k = 0; k < s.count; ++k) {
        if (base[k] == T(0)) {
          add_to_sums_of<asking(), has_dy, false>(some, k, x + at, dy + at, T(0), sums);
        } else {
          add_to_sums_of<asking(), has_dy, true>(some, k, x + at, dy + at, base[k], sums);
        }
      }
    }
  });
}

/// Σ (x − base), Σ (x − base)²
template <class T>
STRATA_INLINE void stretch_moments_loop(const T* x, Stretches s, const T* base, T* sums) {
  add_to_stretch_sums<false>(s, x, x, base, sums);
}

/// Σ dy, Σ dy·(x − base)
template <class T>
STRATA_INLINE void stretch_products_loop(const T* dy, const T* x, Stretches s, const T* base,
                                         T* sums) {
  add_to_stretch_sums<true>(s, x, dy, base, sums);
}

/// y = x·a + b
template <class T>
STRATA_INLINE void stretch_lines_loop(const T* x, Stretches s, const T* a, const T* b, T* y) {
  with_asking<false>(s, [=](auto asking) STRATA_INLINE_LAMBDA {
    for (std::int64_t k = 0; k < s.count; ++k) {
      const T slope = a[k], offset = b[k];
      ask_before<asking()>(x + k * s.length, s.length);
      numbers_of_stretch<asking(), T>(s, k, [=](auto at) STRATA_INLINE_LAMBDA {
        typename decltype(at)::Number number;
        at.load(number, x);
        at.store(number * slope + offset, y);
      });
    }
  });
}

/// What the gradient of a stretch needs: dx = x·slope + offset + dy·d_slope.
template <class T>
struct StretchGradients {
  const T *slope = nullptr, *offset = nullptr, *d_slope = nullptr;
};

template <class T>
STRATA_INLINE void stretch_gradients_loop(const T* dy, const T* x, Stretches s,
                                          StretchGradients<T> of, T* dx) {
  for (std::int64_t k = 0; k < s.count; ++k) {
    const T slope = of.slope[k], offset = of.offset[k], d_slope = of.d_slope[k];
    numbers_of_stretch<Asking::along, T>(s, k, [=](auto at) STRATA_INLINE_LAMBDA {
      typename decltype(at)::Number d, number;
      at.load(number, x);
      at.load(d, dy);
      number = number * slope + offset;
      at.store(number + d * d_slope, dx);
    });
  }
}

#undef STRATA_INLINE_LAMBDA

}  // namespace strata::cpu_training
