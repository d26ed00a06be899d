// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/loops/four_vectors.hpp"

#ifdef __aarch64__
#include <arm_neon.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

/// Functions of one number in a form that compilers make vectors of, of a vector of numbers (of
/// gcc's own kind), or of four: in fp32 without a branch or a call, in fp64 those of the standard
/// library.
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

/// c0 + c1·x + c2·x² + …, where `square` is x².
template <class V>
STRATA_INLINE V polynomial_of(V, V, float c0) {
  return everywhere<V>(c0);
}
#ifdef __aarch64__
/// By pairs: multiplying and adding overwrites what is added to, so that a constant is copied first
/// for each term of Horner's scheme.
template <class V, class... More>
STRATA_INLINE V polynomial_of(V x, V square, float c0, float c1, More... more) {
  const V pair = c1 * x + c0;
  if constexpr (sizeof...(more) == 0) {
    return pair;
  } else {
    return pair + square * polynomial_of(x, square, more...);
  }
}
#else
template <class V, class... More>
STRATA_INLINE V polynomial_of(V x, V square, float c0, More... more) {
  return polynomial_of(x, square, more...) * x + c0;
}
#endif

/// eˣ = p·2ⁿ with |r| ≤ ln 2 / 2 left for the polynomial p (of least error at degree 6: all in all
/// below one unit in the last place). The last bits of `shifted` are n + 127, the exponent of 2ⁿ.
template <class V>
struct PowerOfE {
  V p, shifted;
};
template <class V>
STRATA_INLINE PowerOfE<V> power_of_e(V x) {
  constexpr float log2_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float rounding = 12582912.0F + 127;  // 1.5 · 2²³: adding it leaves a whole number
  const V shifted = x * log2_e + rounding;
  const V n = shifted - rounding;
  const V r = (x - n * ln2_high) - n * ln2_low;
  const V square = r * r;
  const V second = polynomial_of(r, square, 0x1.fffff8p-2F, 0x1.55548ep-3F, 0x1.555b98p-5F,
                                 0x1.123bccp-7F, 0x1.6850e4p-10F);
#ifdef __aarch64__
  const V p = (r + second * square) + 1.0F;
#else
  const V p = (second * r + 1.0F) * r + 1.0F;
#endif
  return {p, shifted};
}

template <class V>
STRATA_INLINE V exp_of(V given) {
  const V x = smaller_of(larger_of(given, everywhere<V>(-87.3F)), everywhere<V>(88.7F));
  const PowerOfE<V> power = power_of_e(x);
  // Times 2ⁿ by adding n to the exponent, which stays one of normal numbers: at n = 128 p is below
  // 1, at −126 it is not.
  V result = bits_as<V>(bits_as<BitsOf<V>>(power.p) - 0x3f800000U +
                        (bits_as<BitsOf<V>>(power.shifted) << 23U));
  result = pick(given > 88.722F, everywhere<V>(std::numeric_limits<float>::infinity()), result);
  result = pick(given < -87.3F, V{}, result);
  return pick(given == given, result, given);
}

/// The same of numbers that are not above 88, where less can go wrong: −88 becomes p·0, and what is
/// not a number stays so.
template <class V>
STRATA_INLINE V exp_of_small(V given) {
  const PowerOfE<V> power = power_of_e(at_least(-88.0F, given));
  return power.p * bits_as<V>(bits_as<BitsOf<V>>(power.shifted) << 23U);
}

/// The same where nobody minds ∞ from e^88.4 on: it becomes p·∞.
template <class V>
STRATA_INLINE V exp_or_infinity(V given) {
  return exp_of_small(at_most(88.7F, given));
}

/// x P(x²)/Q(x²) on the range where the result is not ±1 in fp32 (the approximation of Eigen).
template <class V>
STRATA_INLINE V tanh_of(V given) {
  constexpr float most = 7.90531110763549805F;
  const V x = kept_between(-most, given, most);
  const V s = x * x;
  const V square = s * s;
  const V p = polynomial_of(s, square, 4.89352455891786e-03F, 6.37261928875436e-04F,
                            1.48572235717979e-05F, 5.12229709037114e-08F, -8.60467152213735e-11F,
                            2.00018790482477e-13F, -2.76076847742355e-16F);
  const V q = polynomial_of(s, square, 4.89352518554385e-03F, 2.26843463243900e-03F,
                            1.18534705686654e-04F, 1.19825839466702e-06F);
  return x * p / q;
}

template <class V>
STRATA_INLINE V erf_of(V given) {
  const V x = kept_between(-4.0F, given, 4.0F);
  const V s = x * x;
  // By Horner's scheme, which happens to end at 1 without an error.
  V p = -2.72614225801306e-10F * s + 2.77068142495902e-08F;
  p = p * s + -2.10102402082508e-06F;
  p = p * s + -5.69250639462346e-05F;
  p = p * s + -7.34990630326855e-04F;
  p = p * s + -2.95459980854025e-03F;
  p = p * s + -1.60960333262415e-02F;
  V q = -1.45660718464996e-05F * s + -2.13374055278905e-04F;
  q = q * s + -1.68282697438203e-03F;
  q = q * s + -7.37332916720468e-03F;
  q = q * s + -1.42647390514189e-02F;
  return x * p / q;
}

/// ln x = n ln 2 + ln m with m in √½ … √2 (Cephes, logf); of normal positive numbers, else as the
/// standard says.
template <class V>
STRATA_INLINE V log_of(V given) {
  const auto bits = bits_as<WholeOf<V>>(given);
  // From √½ on; without the sign, as the difference may not overflow.
  const WholeOf<V> shifted = (bits & 0x7fffffff) - 0x3f3504f3;
  const V n = as_real<V>(shifted >> 23);
  const V m = bits_as<V>((shifted & 0x007fffff) + 0x3f3504f3) - 1.0F;
  const V s = m * m;
  const V p = polynomial_of(m, s, 3.3333331174e-1F, -2.4999993993e-1F, 2.0000714765e-1F,
                            -1.6668057665e-1F, 1.4249322787e-1F, -1.2420140846e-1F,
                            1.1676998740e-1F, -1.1514610310e-1F, 7.0376836292e-2F);
  V result = m * s * p;
  result += n * -2.12194440e-4F;
  result += s * -0.5F;
  result = m + result;
  result += n * 0.693359375F;
  // Added rather than chosen: of choices that exclude each other compilers make branches.
  constexpr float infinity = std::numeric_limits<float>::infinity();
  result += pick(given > std::numeric_limits<float>::max(), everywhere<V>(infinity), V{});
  result -= pick(given == 0.0F, everywhere<V>(infinity), V{});
  result += pick(given >= 0.0F, V{}, everywhere<V>(std::numeric_limits<float>::quiet_NaN()));
  return result;
}

/// ln(1 + x) for x in 0 … 1: what 1 + x rounded away is put back.
template <class V>
STRATA_INLINE V log1p_of(V x) {
  const V sum = 1.0F + x;
  return log_of(sum) + (x - (sum - 1.0F)) / sum;
}

/// t^−¼ of normal positive numbers and ∞, by two steps of third order from a guess out of the
/// exponent: vector units take many times longer for roots and divisions.
STRATA_INLINE float inverse_fourth_root_of(float t) {
  float root = std::bit_cast<float>(0x4f58cae5U - (std::bit_cast<std::uint32_t>(t) >> 2U));
  for (int step = 0; step < 2; ++step) {
    const float square = root * root;
    const float error = 1.0F - t * square * square;
    root += root * error * (0.25F + 0.15625F * error);
  }
  return t > std::numeric_limits<float>::max() ? 0.0F : root;
}

inline double inverse_fourth_root_of(double t) { return 1 / std::sqrt(std::sqrt(t)); }
inline double exp_of(double x) { return std::exp(x); }
inline double exp_of_small(double x) { return std::exp(x); }
inline double exp_or_infinity(double x) { return std::exp(x); }
inline double tanh_of(double x) { return std::tanh(x); }
inline double erf_of(double x) { return std::erf(x); }
inline double log_of(double x) { return std::log(x); }
inline double log1p_of(double x) { return std::log1p(x); }

template <class T>
STRATA_INLINE T sigmoid_of(T x) {
  return Element<T>(1) / (Element<T>(1) + exp_or_infinity(-x));
}

}  // namespace strata::cpu_training
