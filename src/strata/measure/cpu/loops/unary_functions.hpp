// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"
#include "strata/measure/cpu/loops/gelu_ratios.hpp"
#include "strata/measure/cpu/loops/vector_math.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cmath>
#include <numbers>

/// Each function of one number that is an operator, and its slope.
namespace strata::cpu_training {

/// What backward computes the slope from.
enum class SlopeFrom : std::uint8_t { nothing, input, output };

constexpr SlopeFrom slope_from(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::relu:
    case UnaryKind::relu6:
    case UnaryKind::leaky_relu:
    case UnaryKind::elu:
    case UnaryKind::selu:
    case UnaryKind::hard_sigmoid:
    case UnaryKind::sigmoid:
    case UnaryKind::tanh:
    case UnaryKind::clip:
    case UnaryKind::square_root:
    case UnaryKind::reciprocal:
    case UnaryKind::exponential: return SlopeFrom::output;
    case UnaryKind::identity:
    case UnaryKind::negate:
    case UnaryKind::floor:
    case UnaryKind::ceiling:
    case UnaryKind::round:
    case UnaryKind::sign:
    case UnaryKind::logical_not: return SlopeFrom::nothing;
    default: return SlopeFrom::input;
  }
}

/// Whether the functions are there for vectors of numbers, too: no call of the standard library.
constexpr bool takes_vectors(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::square_root:
    case UnaryKind::sine:
    case UnaryKind::cosine:
    case UnaryKind::floor:
    case UnaryKind::ceiling:
    case UnaryKind::round: return false;
    default: return true;
  }
}

template <class T>
struct UnaryConstants {
  static constexpr T slope = T(training_constants::leaky_relu_slope);
  static constexpr T elu_alpha = T(training_constants::elu_alpha);
  static constexpr T selu_alpha = T(training_constants::selu_alpha);
  static constexpr T selu_lambda = T(training_constants::selu_lambda);
  static constexpr T low = T(training_constants::clip_low);
  static constexpr T high = T(training_constants::clip_high);
  static constexpr T erf_slope = T(2 * std::numbers::inv_sqrtpi);
  static constexpr T sixth = T(1.0 / 6);
};

/// Whether a function, or its slope, is made of a power of e.
constexpr bool has_power(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::elu:
    case UnaryKind::selu:
    case UnaryKind::silu:
    case UnaryKind::sigmoid:
    case UnaryKind::mish:
    case UnaryKind::exponential: return true;
    default: return false;
  }
}
constexpr bool slope_has_power(UnaryKind kind) {
  return kind == UnaryKind::silu || kind == UnaryKind::mish;
}
/// Which one.
template <UnaryKind kind>
using PowerIn = std::conditional_t<
    kind == UnaryKind::elu || kind == UnaryKind::selu, PowerLessOne,
    std::conditional_t<kind == UnaryKind::silu || kind == UnaryKind::sigmoid, OneAndPowerOfNegated,
                       std::conditional_t<kind == UnaryKind::mish, SmallPower, AnyPower>>>;

/// Of what. Where mish is x but for what rounding leaves, 1 + eˣ is eˣ.
template <UnaryKind kind, class T>
STRATA_INLINE T exponent_in(T x) {
  if constexpr (kind == UnaryKind::mish) {
    return at_most(sizeof(Element<T>) == 4 ? Element<T>(20) : Element<T>(40), x);
  } else {
    return x;
  }
}
template <UnaryKind kind, class T>
STRATA_INLINE T power_in(T x) {
  return power_of<PowerIn<kind>>(exponent_in<kind>(x));
}

/// The function, of its power and of x.
template <UnaryKind kind, class T>
STRATA_INLINE T value_of_power(T power, [[maybe_unused]] T x) {
  using E = Element<T>;
  using C = UnaryConstants<E>;
  if constexpr (kind == UnaryKind::elu) return pick(x > E(0), x, C::elu_alpha * power);
  if constexpr (kind == UnaryKind::selu) {
    return C::selu_lambda * pick(x > E(0), x, C::selu_alpha * power);
  }
  if constexpr (kind == UnaryKind::silu) return x / power;
  if constexpr (kind == UnaryKind::sigmoid) return E(1) / power;
  if constexpr (kind == UnaryKind::mish) {
    const T above = E(2) * power + power * power;  // (1 + eˣ)² − 1
    return x * (above / (above + E(2)));
  }
  return power;
}
/// dy times its slope.
template <UnaryKind kind, class T>
STRATA_INLINE T gradient_of_power(T power, T x, T dy) {
  using E = Element<T>;
  if constexpr (kind == UnaryKind::silu) {
    const T s = E(1) / power;
    return dy * (s * (E(1) + x * (E(1) - s)));
  } else {
    const T above = E(2) * power + power * power;
    const T t = above / (above + E(2));
    return dy * (t + x * (power / (E(1) + power)) * (E(1) - t * t));
  }
}

/// Whether a function, or its slope, is made of a ratio, and of which.
constexpr bool has_ratio(UnaryKind kind) {
  return kind == UnaryKind::tanh || kind == UnaryKind::gelu || kind == UnaryKind::gelu_tanh;
}
constexpr bool slope_has_ratio(UnaryKind kind) {
  return kind == UnaryKind::gelu || kind == UnaryKind::gelu_tanh;
}
template <UnaryKind kind, class T>
STRATA_INLINE auto ratio_in(T x) {
  if constexpr (kind == UnaryKind::gelu) {
    return gelu_share_of(x);
  } else if constexpr (kind == UnaryKind::gelu_tanh) {
    return gelu_tanh_share_of(x);
  } else {
    return tanh_ratio_of(x);
  }
}
template <UnaryKind kind, class T>
STRATA_INLINE auto ratio_in_slope(T x) {
  if constexpr (kind == UnaryKind::gelu) {
    return gelu_slope_of(x);
  } else {
    return gelu_tanh_slope_of(x);
  }
}
/// The function, of the ratio's value and of x; dy times its slope.
template <UnaryKind kind, class T>
STRATA_INLINE T value_of_ratio(T value, [[maybe_unused]] T x) {
  if constexpr (kind == UnaryKind::tanh) {
    return value;
  } else {
    return Element<T>(0.5) * x + x * value;
  }
}
template <class T>
STRATA_INLINE T gradient_of_ratio(T value, T dy) {
  return dy * (Element<T>(0.5) + value);
}

template <UnaryKind kind, class T>
STRATA_INLINE T unary_value(T x) {
  using E = Element<T>;
  using C = UnaryConstants<E>;
  if constexpr (has_power(kind)) return value_of_power<kind>(power_in<kind>(x), x);
  if constexpr (has_ratio(kind)) return value_of_ratio<kind>(value_of(ratio_in<kind>(x)), x);
  if constexpr (kind == UnaryKind::relu) return pick(x > E(0), x, T{});
  if constexpr (kind == UnaryKind::relu6) return smaller_of(larger_of(x, T{}), everywhere<T>(6));
  if constexpr (kind == UnaryKind::leaky_relu) return pick(x > E(0), x, C::slope * x);
  if constexpr (kind == UnaryKind::hard_swish) {
    return (x * C::sixth) * kept_between(E(0), x + E(3), E(6));
  }
  if constexpr (kind == UnaryKind::hard_sigmoid) {
    return smaller_of(larger_of(x * C::sixth + E(0.5), T{}), everywhere<T>(1));
  }
  if constexpr (kind == UnaryKind::softplus) {
    const T distance = pick(x > E(0), x, -x);
    return larger_of(x, T{}) + log1p_of(exp_of_small(-distance));
  }
  if constexpr (kind == UnaryKind::softsign) return x / (E(1) + pick(x > E(0), x, -x));
  if constexpr (kind == UnaryKind::clip)
    return smaller_of(larger_of(x, everywhere<T>(C::low)), everywhere<T>(C::high));
  if constexpr (kind == UnaryKind::negate) return -x;
  if constexpr (kind == UnaryKind::absolute) return pick(x > E(0), x, -x);
  if constexpr (kind == UnaryKind::square) return x * x;
  if constexpr (kind == UnaryKind::square_root) return std::sqrt(x);
  if constexpr (kind == UnaryKind::reciprocal) return E(1) / x;
  if constexpr (kind == UnaryKind::logarithm) return log_of(x);
  if constexpr (kind == UnaryKind::error_function) return erf_of(x);
  if constexpr (kind == UnaryKind::sine) return std::sin(x);
  if constexpr (kind == UnaryKind::cosine) return std::cos(x);
  if constexpr (kind == UnaryKind::floor) return std::floor(x);
  if constexpr (kind == UnaryKind::ceiling) return std::ceil(x);
  if constexpr (kind == UnaryKind::round) return std::nearbyint(x);
  if constexpr (kind == UnaryKind::sign)
    return pick(x > E(0), everywhere<T>(1), pick(x < E(0), everywhere<T>(-1), T{}));
  if constexpr (kind == UnaryKind::logical_not) return pick(x == E(0), everywhere<T>(1), T{});
  return x;
}

/// dy times the slope where `known` is the input or the output, as slope_from says.
template <UnaryKind kind, class T>
STRATA_INLINE T unary_gradient(T known, T dy) {
  using E = Element<T>;
  using C = UnaryConstants<E>;
  const T x = known, y = known;
  if constexpr (kind == UnaryKind::relu) return pick(y > E(0), dy, T{});
  if constexpr (kind == UnaryKind::relu6) return pick((y > E(0)) & (y < E(6)), dy, T{});
  if constexpr (kind == UnaryKind::leaky_relu) return pick(y > E(0), dy, C::slope * dy);
  if constexpr (kind == UnaryKind::elu) return pick(y > E(0), dy, dy * (y + C::elu_alpha));
  if constexpr (kind == UnaryKind::selu) {
    return pick(y > E(0), C::selu_lambda * dy, dy * (y + C::selu_lambda * C::selu_alpha));
  }
  if constexpr (kind == UnaryKind::hard_sigmoid) {
    return pick((y > E(0)) & (y < E(1)), dy * C::sixth, T{});
  }
  if constexpr (kind == UnaryKind::sigmoid) return dy * y * (E(1) - y);
  if constexpr (kind == UnaryKind::tanh) return dy * (E(1) - y * y);
  if constexpr (kind == UnaryKind::clip) return pick((y > C::low) & (y < C::high), dy, T{});
  if constexpr (kind == UnaryKind::square_root) return E(0.5) * dy / y;
  if constexpr (kind == UnaryKind::reciprocal) return -(dy * y * y);
  if constexpr (kind == UnaryKind::exponential) return dy * y;

  if constexpr (slope_has_ratio(kind)) {
    return gradient_of_ratio(value_of(ratio_in_slope<kind>(x)), dy);
  }
  if constexpr (slope_has_power(kind)) {
    return gradient_of_power<kind>(power_in<kind>(x), x, dy);
  }
  if constexpr (kind == UnaryKind::hard_swish) {
    const T sloped = dy * (x * E(1.0 / 3) + E(0.5));
    return pick(x <= E(-3), T{}, pick(x >= E(3), dy, sloped));
  }
  if constexpr (kind == UnaryKind::softplus) return dy * sigmoid_of(x);
  if constexpr (kind == UnaryKind::softsign) {
    const T below = E(1) + pick(x > E(0), x, -x);
    return dy / (below * below);
  }
  if constexpr (kind == UnaryKind::absolute) return pick(x > E(0), dy, -dy);
  if constexpr (kind == UnaryKind::square) return E(2) * x * dy;
  if constexpr (kind == UnaryKind::logarithm) return dy / x;
  if constexpr (kind == UnaryKind::error_function)
    return dy * (C::erf_slope * exp_of_small(-(x * x)));
  if constexpr (kind == UnaryKind::sine) return dy * std::cos(x);
  if constexpr (kind == UnaryKind::cosine) return -(dy * std::sin(x));
  if constexpr (kind == UnaryKind::negate) return -dy;
  return dy;
}

}  // namespace strata::cpu_training
