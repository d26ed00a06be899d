// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/powers_of_e.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Functions of one number in a form that compilers make vectors of, of a vector of numbers (of
/// gcc's own kind), or of four: in fp32 without a branch or a call, in fp64 those of the standard
/// library.
namespace strata::cpu_training {

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
