// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/four_vectors.hpp"

#ifdef __aarch64__
#include <arm_neon.h>
#endif

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

/// What functions of one number are made of, in a form that compilers make vectors of, for a vector
/// of numbers (of gcc's own kind), or for four: choices, bits, polynomials and ratios of them.
namespace strata::cpu_training {

/// What a vector is made of; a number is made of itself.
template <class V>
struct PartsOf {
  using Element = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
  using Bits __attribute__((vector_size(sizeof(V)))) = std::uint32_t;
  using Whole __attribute__((vector_size(sizeof(V)))) = std::int32_t;
};
template <>
struct PartsOf<float> {
  using Element = float;
  using Bits = std::uint32_t;
  using Whole = std::int32_t;
};
template <>
struct PartsOf<double> {
  using Element = double;
};
template <class Number>
struct PartsOf<Four<Number>> {
  using Element = Number;
  using Bits = Four<std::uint32_t>;
  using Whole = Four<std::int32_t>;
};
template <class V>
using Element = typename PartsOf<V>::Element;
template <class V>
using BitsOf = typename PartsOf<V>::Bits;
template <class V>
using WholeOf = typename PartsOf<V>::Whole;

/// The same number everywhere.
template <class V>
STRATA_INLINE V everywhere(Element<V> number) {
  if constexpr (is_four<V>) {
    return V(number);
  } else {
    return number - V{};
  }
}
/// Number by number the one or the other.
template <class V, class Condition>
STRATA_INLINE V pick(Condition condition, V yes, V no) {
  return condition ? yes : no;
}
template <class Number, class Condition>
STRATA_INLINE Four<Number> pick(Four<Condition> is, Four<Number> yes, Four<Number> no) {
  return {pick(is.a, yes.a, no.a), pick(is.b, yes.b, no.b), pick(is.c, yes.c, no.c),
          pick(is.d, yes.d, no.d)};
}
/// The same for vectors of any size, of which gcc returns none that are larger than registers
/// without a warning.
template <class V, class Condition>
STRATA_INLINE void pick_to(V& result, const Condition& condition, const V& yes, const V& no) {
  if constexpr (is_four<V>) {
    result = pick(condition, yes, no);
  } else {
    result = condition ? yes : no;
  }
}
template <class V>
STRATA_INLINE V as_real(WholeOf<V> number) {
  if constexpr (std::is_same_v<V, float>) {
    return static_cast<float>(number);
  } else if constexpr (is_four<V>) {
    return each_of<V>(
        number,
        [](auto each) __attribute__((always_inline)) { return as_real<typename V::V>(each); });
  } else {
    return __builtin_convertvector(number, V);
  }
}
/// The same bits as another type.
template <class To, class From>
STRATA_INLINE To bits_as(From from) {
  if constexpr (is_four<From>) {
    return each_of<To>(
        from, [](auto each)
                  __attribute__((always_inline)) { return std::bit_cast<typename To::V>(each); });
  } else {
    return std::bit_cast<To>(from);
  }
}

template <class T>
STRATA_INLINE T larger_of(T a, T b) {
  return pick(a > b, a, b);
}
template <class T>
STRATA_INLINE T smaller_of(T a, T b) {
  return pick(a < b, a, b);
}

/// Whether V is a vector of NEON, which has an instruction for the larger of two numbers: written
/// as a choice it takes two.
template <class V>
inline constexpr bool is_neon_vector =
#ifdef __aarch64__
    sizeof(V) == 16 && std::is_same_v<Element<V>, float>;
#else
    false;
#endif

/// x, but not below `low`; what is not a number stays so.
template <class V>
STRATA_INLINE V at_least(Element<V> low, V x) {
#ifdef __aarch64__
  if constexpr (is_neon_vector<V>) return vmaxq_f32(x, everywhere<V>(low));
#endif
  if constexpr (is_four<V>) {
    return each_of<V>(
        x, [low](auto each) __attribute__((always_inline)) { return at_least(low, each); });
  } else {
    return pick(everywhere<V>(low) > x, everywhere<V>(low), x);
  }
}
template <class V>
STRATA_INLINE V at_most(Element<V> high, V x) {
#ifdef __aarch64__
  if constexpr (is_neon_vector<V>) return vminq_f32(x, everywhere<V>(high));
#endif
  if constexpr (is_four<V>) {
    return each_of<V>(
        x, [high](auto each) __attribute__((always_inline)) { return at_most(high, each); });
  } else {
    return pick(everywhere<V>(high) < x, everywhere<V>(high), x);
  }
}

/// x becomes the largest so far, which is a number, if it is larger: what is not a number does not
/// count.
template <class V>
STRATA_INLINE void keep_larger(const V& x, V& largest) {
#ifdef __aarch64__
  if constexpr (is_neon_vector<V>) {
    largest = vmaxnmq_f32(x, largest);
    return;
  }
#endif
  if constexpr (is_four<V>) {
    keep_larger(x.a, largest.a);
    keep_larger(x.b, largest.b);
    keep_larger(x.c, largest.c);
    keep_larger(x.d, largest.d);
  } else {
    largest = x > largest ? x : largest;
  }
}

/// x where it is between low and high, else the nearer; what is not a number stays so.
template <class T>
STRATA_INLINE T kept_between(Element<T> low, T x, Element<T> high) {
  return at_most(high, at_least(low, x));
}

/// A constant that fills a vector in memory.
struct Repeated {
  alignas(16) float numbers[4];
  constexpr explicit Repeated(float number) : numbers{number, number, number, number} {}
};
/// constant ± a·b, where the sign is 1 or −1. Arm's multiply-add overwrites what it adds to, so
/// that the constant is needed anew each time: a copy from another register would take a vector
/// operation, to load it takes none. Left to themselves, compilers copy, or load far ahead and run
/// out of registers.
template <int sign = 1, class V>
STRATA_INLINE V with_product(const Repeated& constant, V a, V b) {
  if constexpr (is_four<V>) {
    return {with_product<sign>(constant, a.a, b.a), with_product<sign>(constant, a.b, b.b),
            with_product<sign>(constant, a.c, b.c), with_product<sign>(constant, a.d, b.d)};
  } else if constexpr (is_neon_vector<V>) {
    V sum;
#ifdef __aarch64__
    if constexpr (sign > 0) {
      asm("ldr %q0, %1\n\tfmla %0.4s, %2.4s, %3.4s" : "=&w"(sum) : "m"(constant), "w"(a), "w"(b));
    } else {
      asm("ldr %q0, %1\n\tfmls %0.4s, %2.4s, %3.4s" : "=&w"(sum) : "m"(constant), "w"(a), "w"(b));
    }
#endif
    return sum;
  } else if constexpr (sign > 0) {
    return a * b + constant.numbers[0];
  } else {
    return constant.numbers[0] - a * b;
  }
}

/// terms[0] + terms[1]·x + terms[2]·x² + …, where `square` is x². On Arm by pairs: fewer operations
/// wait for each other, of which its cores look at few.
template <std::size_t first = 0, class V, std::size_t count>
STRATA_INLINE V polynomial_of(V x, [[maybe_unused]] V square, const Repeated (&terms)[count]) {
  if constexpr (first + 1 == count) {
    return everywhere<V>(terms[first].numbers[0]);
  } else {
#ifdef __aarch64__
    const V pair = with_product(terms[first], x, everywhere<V>(terms[first + 1].numbers[0]));
    if constexpr (first + 2 == count) {
      return pair;
    } else {
      return pair + square * polynomial_of<first + 2>(x, square, terms);
    }
#else
    return polynomial_of<first + 1>(x, square, terms) * x + terms[first].numbers[0];
#endif
  }
}
/// What is still to be divided.
template <class V>
struct Ratio {
  V above, below;
};
template <class V>
STRATA_INLINE V value_of(const Ratio<V>& ratio) {
  return ratio.above / ratio.below;
}
inline double value_of(double number) { return number; }  // of fp64 nothing is left to divide
/// x P(x²)/Q(x²)
template <class V, std::size_t m, std::size_t n>
STRATA_INLINE Ratio<V> ratio_of(V x, const Repeated (&above)[m], const Repeated (&below)[n]) {
  const V s = x * x;
  const V square = s * s;
  return {x * polynomial_of(s, square, above), polynomial_of(s, square, below)};
}

}  // namespace strata::cpu_training
