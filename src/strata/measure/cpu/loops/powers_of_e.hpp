// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/vector_basics.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

/// Powers of e as functions need them, each in two steps: in fp32 without a branch or a call, in
/// fp64 those of the standard library.
namespace strata::cpu_training {

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

/// eˣ = eʳ·2ⁿ with eʳ = 1 + slope·r. The last bits of `shifted` are n + 127, the exponent of 2ⁿ.
template <class V>
struct PowerOfE {
  V slope, r, shifted;

  STRATA_INLINE V of_r() const { return slope * r + 1.0F; }
  STRATA_INLINE V of_r_less_one() const { return slope * r; }
  STRATA_INLINE V scale() const { return bits_as<V>(bits_as<BitsOf<V>>(shifted) << 23U); }
};
template <class V>
STRATA_INLINE PowerOfE<V> power_of_e(V x) {
  using C = PowerConstants;
  constexpr float rounding = C::whole + 127;
  const V shifted = x * C::log2_e + rounding;
  const V n = shifted - rounding;
  const V r = (x - n * C::ln2_high) - n * C::ln2_low;
  const V p = (((C::sixth * r + C::fifth) * r + C::fourth) * r + C::third) * r + C::second;
  return {p * r + 1.0F, r, shifted};
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
    // Times 2ⁿ by adding n to the exponent, which stays one of normal numbers: at n = 128 eʳ is
    // below 1, at −126 it is not.
    V result = bits_as<V>(bits_as<BitsOf<V>>(power.of_r()) - 0x3f800000U +
                          (bits_as<BitsOf<V>>(power.shifted) << 23U));
    result = pick(given > 88.722F, everywhere<V>(std::numeric_limits<float>::infinity()), result);
    result = pick(given < -87.3F, V{}, result);
    // NOLINTNEXTLINE(misc-redundant-expression): what is no number is unlike itself
    return pick(given == given, result, given);
  }
};
/// The same of numbers that are not above 88, where less can go wrong: −88 becomes eʳ·0, and what
/// is not a number stays so.
struct SmallPower : WholePower {
  template <class V>
  static STRATA_INLINE V finish(V given) {
    const PowerOfE<V> power = power_of_e(at_least(-88.0F, given));
    return power.of_r() * power.scale();
  }
};
/// 1 + e^−x where nobody minds ∞ from e^88.4 on: it becomes eʳ·∞.
struct OneAndPowerOfNegated : WholePower {
  template <class V>
  static STRATA_INLINE V finish(V given) {
    return 1.0F + SmallPower::finish(at_most(88.7F, -given));
  }
};
/// eˣ − 1 of numbers up to 0, without losing digits near 0; of others it may be anything.
struct PowerLessOne : WholePower {
  template <class V>
  static STRATA_INLINE V finish(V given) {
    const PowerOfE<V> power = power_of_e(kept_between(-88.0F, given, 0.0F));
    const V scale = power.scale();
    return (scale - 1.0F) + power.of_r_less_one() * scale;
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

}  // namespace strata::cpu_training
