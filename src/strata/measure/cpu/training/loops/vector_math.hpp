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

/// eˣ = 2ⁿ·eʳ with |r| ≤ ln 2 / 2.
struct PowerConstants {
  static constexpr float log2_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  static constexpr float whole = 12582912.0F;  ///< 1.5 · 2²³: adding it leaves a whole number
  /// Of eʳ = 1 + r + …, of least error: all in all below one unit in the last place.
  static constexpr float second = 0x1.fffff8p-2F, third = 0x1.55548ep-3F, fourth = 0x1.555b98p-5F,
                         fifth = 0x1.123bccp-7F, sixth = 0x1.6850e4p-10F;
};

#ifdef __aarch64__

/// sum ± a·b
template <int sign, class V>
STRATA_INLINE V with_product(V sum, V a, V b) {
  if constexpr (sign > 0) return sum + a * b;
  return sum - a * b;
}

/// e^±x = 2ⁿ ± above·2ⁿ, in as few operations as possible: signs go into the choice between adding
/// and subtracting products, constants that products are added to are loaded, and 1 is not added to
/// the polynomial but 2ⁿ to its product with 2ⁿ. In two steps, between which loops may do something
/// else: ±r is what is left of x, and the last bits of `shifted` are n + bias.
template <class V>
struct StartedPower {
  V r, shifted;
};
template <int sign, int bias = 127, class V>
STRATA_INLINE StartedPower<V> started_power(V x) {
  using C = PowerConstants;
  static constexpr Repeated rounding(C::whole + bias);
  const V shifted = with_product<sign>(rounding, x, everywhere<V>(C::log2_e));
  const V n = shifted - (C::whole + bias);
  const V r = with_product<-sign>(x, n, everywhere<V>(C::ln2_high));
  return {with_product<-sign>(r, n, everywhere<V>(C::ln2_low)), shifted};
}
template <int sign, class V>
STRATA_INLINE V above_of(V r) {
  using C = PowerConstants;
  static constexpr Repeated second(C::second), fourth(C::fourth);
  const V square = r * r;
  V high = with_product<sign>(fourth, r, everywhere<V>(C::fifth));
  V low = with_product<sign>(second, r, everywhere<V>(C::third));
  high += square * C::sixth;
  low += square * high;
  return with_product<sign>(r, low, square);
}
/// 2 to the power of what the last bits are more than 127; of −127 that is 0.
template <class V>
STRATA_INLINE V two_to_the(V shifted) {
  return bits_as<V>(bits_as<BitsOf<V>>(shifted) << 23U);
}

/// eˣ, at its ends as the standard says, except that what is below 2^−126.5 becomes 0.
struct AnyPower {
  template <class V>
  static STRATA_INLINE StartedPower<V> start(V x) {
    return started_power<1>(kept_between(-88.0F, x, 89.0F));
  }
  template <class V>
  static STRATA_INLINE V finish(const StartedPower<V>& power) {
    // 2¹²⁸ is no number of fp32, but half of it is.
    const V limited = at_most(PowerConstants::whole + 127 + 127, power.shifted);
    const V scale = two_to_the(limited);
    const V result = scale + above_of<1>(power.r) * scale;
    return result + (power.shifted - limited) * result;
  }
};
/// The same of numbers that are not above 88, where less can go wrong: −88 becomes 0, and what is
/// not a number stays so.
struct SmallPower {
  template <class V>
  static STRATA_INLINE StartedPower<V> start(V x) {
    return started_power<1>(at_least(-88.0F, x));
  }
  template <class V>
  static STRATA_INLINE V finish(const StartedPower<V>& power) {
    const V scale = two_to_the(power.shifted);
    return scale + above_of<1>(power.r) * scale;
  }
};
/// 1 + e^−x, which becomes ∞ while half of the power, the last that is computed, is still a number.
struct OneAndPowerOfNegated {
  template <class V>
  static STRATA_INLINE StartedPower<V> start(V x) {
    return started_power<-1, 126>(kept_between(-89.0F, x, 80.0F));
  }
  template <class V>
  static STRATA_INLINE V finish(const StartedPower<V>& power) {
    static constexpr Repeated one(1.0F);
    const V scale = two_to_the(power.shifted);
    return with_product(one, scale - above_of<-1>(power.r) * scale, everywhere<V>(2.0F));
  }
};
/// eˣ − 1 of numbers up to 0, without losing digits near 0; of others it may be anything.
struct PowerLessOne {
  template <class V>
  static STRATA_INLINE StartedPower<V> start(V x) {
    return started_power<1>(at_least(-88.0F, x));
  }
  template <class V>
  static STRATA_INLINE V finish(const StartedPower<V>& power) {
    const V scale = two_to_the(power.shifted);
    return (scale - 1.0F) + above_of<1>(power.r) * scale;
  }
};

#else

/// eˣ = p·2ⁿ with p = eʳ. The last bits of `shifted` are n + 127, the exponent of 2ⁿ.
template <class V>
struct PowerOfE {
  V p, shifted;
};
template <class V>
STRATA_INLINE PowerOfE<V> power_of_e(V x) {
  using C = PowerConstants;
  constexpr float rounding = C::whole + 127;
  const V shifted = x * C::log2_e + rounding;
  const V n = shifted - rounding;
  const V r = (x - n * C::ln2_high) - n * C::ln2_low;
  const V p = (((C::sixth * r + C::fifth) * r + C::fourth) * r + C::third) * r + C::second;
  return {(p * r + 1.0F) * r + 1.0F, shifted};
}

/// Loops need not take powers apart: each starts with nothing.
struct WholePower {
  template <class V>
  static STRATA_INLINE V start(V x) {
    return x;
  }
};
/// eˣ, at its ends as the standard says, except that what is below e^−87.3 becomes 0.
struct AnyPower : WholePower {
  template <class V>
  static STRATA_INLINE V finish(V given) {
    const V x = smaller_of(larger_of(given, everywhere<V>(-87.3F)), everywhere<V>(88.7F));
    const PowerOfE<V> power = power_of_e(x);
    // Times 2ⁿ by adding n to the exponent, which stays one of normal numbers: at n = 128 p is
    // below 1, at −126 it is not.
    V result = bits_as<V>(bits_as<BitsOf<V>>(power.p) - 0x3f800000U +
                          (bits_as<BitsOf<V>>(power.shifted) << 23U));
    result = pick(given > 88.722F, everywhere<V>(std::numeric_limits<float>::infinity()), result);
    result = pick(given < -87.3F, V{}, result);
    return pick(given == given, result, given);
  }
};
/// The same of numbers that are not above 88, where less can go wrong: −88 becomes p·0, and what is
/// not a number stays so.
struct SmallPower : WholePower {
  template <class V>
  static STRATA_INLINE V finish(V given) {
    const PowerOfE<V> power = power_of_e(at_least(-88.0F, given));
    return power.p * bits_as<V>(bits_as<BitsOf<V>>(power.shifted) << 23U);
  }
};
/// 1 + e^−x where nobody minds ∞ from e^88.4 on: it becomes p·∞.
struct OneAndPowerOfNegated : WholePower {
  template <class V>
  static STRATA_INLINE V finish(V given) {
    return 1.0F + SmallPower::finish(at_most(88.7F, -given));
  }
};
/// eˣ − 1 of numbers up to 0; of others it may be anything.
struct PowerLessOne : WholePower {
  template <class V>
  static STRATA_INLINE V finish(V given) {
    return SmallPower::finish(at_most(0.0F, given)) - 1.0F;
  }
};

#endif

/// Both steps of a power; in fp64, all in the second by the standard library.
template <class Power, class V>
STRATA_INLINE auto start_of(V x) {
  if constexpr (std::is_same_v<V, double>) {
    return x;
  } else {
    return Power::start(x);
  }
}
template <class Power, class Started>
STRATA_INLINE auto finish_of(const Started& started) {
  if constexpr (!std::is_same_v<Started, double>) {
    return Power::finish(started);
  } else if constexpr (std::is_same_v<Power, OneAndPowerOfNegated>) {
    return 1 + std::exp(-started);
  } else if constexpr (std::is_same_v<Power, PowerLessOne>) {
    return std::expm1(started);
  } else {
    return std::exp(started);
  }
}
template <class Power, class V>
STRATA_INLINE V power_of(V x) {
  return finish_of<Power>(start_of<Power>(x));
}
template <class V>
STRATA_INLINE V exp_of_small(V x) {
  return power_of<SmallPower>(x);
}

/// x P(x²)/Q(x²) on the range where the result is not ±1 in fp32 (the approximation of Eigen).
template <class V>
STRATA_INLINE Ratio<V> tanh_ratio_of(V given) {
  static constexpr Repeated above[] = {
      Repeated(4.89352455891786e-03F),  Repeated(6.37261928875436e-04F),
      Repeated(1.48572235717979e-05F),  Repeated(5.12229709037114e-08F),
      Repeated(-8.60467152213735e-11F), Repeated(2.00018790482477e-13F),
      Repeated(-2.76076847742355e-16F)};
  static constexpr Repeated below[] = {
      Repeated(4.89352518554385e-03F), Repeated(2.26843463243900e-03F),
      Repeated(1.18534705686654e-04F), Repeated(1.19825839466702e-06F)};
  constexpr float most = 7.90531110763549805F;
  return ratio_of(kept_between(-most, given, most), above, below);
}
template <class V>
STRATA_INLINE V tanh_of(V x) {
  return value_of(tanh_ratio_of(x));
}

template <class V>
STRATA_INLINE V erf_of(V given) {
  static constexpr Repeated above[] = {Repeated(0.763912678F),   Repeated(0.129679784F),
                                       Repeated(0.0357967094F),  Repeated(0.00257813628F),
                                       Repeated(0.00019273402F), Repeated(1.37154041e-06F)};
  static constexpr Repeated below[] = {Repeated(0.676999986F),    Repeated(0.340591937F),
                                       Repeated(0.0775569603F),   Repeated(0.010192317F),
                                       Repeated(0.000792584324F), Repeated(2.56121584e-05F)};
  constexpr float most = 0x1.f99992p+1F;  // where it is 1 without an error
  return value_of(ratio_of(kept_between(-most, given, most), above, below));
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
  static constexpr Repeated terms[] = {
      Repeated(3.3333331174e-1F),  Repeated(-2.4999993993e-1F), Repeated(2.0000714765e-1F),
      Repeated(-1.6668057665e-1F), Repeated(1.4249322787e-1F),  Repeated(-1.2420140846e-1F),
      Repeated(1.1676998740e-1F),  Repeated(-1.1514610310e-1F), Repeated(7.0376836292e-2F)};
  V result = m * s * polynomial_of(m, s, terms);
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

#ifdef __aarch64__
/// t^−½ of positive numbers and ∞, by two of Newton's steps from the guess of the vector unit.
STRATA_INLINE Four<float> inverse_root_of(const Four<float>& t) {
  using V = Four<float>::V;
  const auto step = [](V number, V guess) __attribute__((always_inline)) {
    return V(vrsqrtsq_f32(number, guess * guess));  // (3 − number·guess²)/2
  };
  Four<float> root = each_of<Four<float>>(
      t, [](V number) __attribute__((always_inline)) { return V(vrsqrteq_f32(number)); });
  for (int k = 0; k < 2; ++k) {
    root *= Four<float>(step(t.a, root.a), step(t.b, root.b), step(t.c, root.c), step(t.d, root.d));
  }
  return root;
}
STRATA_INLINE Four<float> root_of(const Four<float>& t) {
  using V = Four<float>::V;
  return each_of<Four<float>>(
      t, [](V number) __attribute__((always_inline)) { return V(vsqrtq_f32(number)); });
}
#endif

inline double inverse_fourth_root_of(double t) { return 1 / std::sqrt(std::sqrt(t)); }
inline double tanh_of(double x) { return std::tanh(x); }
inline double tanh_ratio_of(double x) { return std::tanh(x); }
inline double erf_of(double x) { return std::erf(x); }
inline double log_of(double x) { return std::log(x); }
inline double log1p_of(double x) { return std::log1p(x); }

template <class T>
STRATA_INLINE T sigmoid_of(T x) {
  return Element<T>(1) / power_of<OneAndPowerOfNegated>(x);
}

}  // namespace strata::cpu_training
