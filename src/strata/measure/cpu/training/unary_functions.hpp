// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"
#include "strata/measure/cpu/training/vector_math.hpp"
#include "strata/measure/training/constants.hpp"

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

template <class T>
struct UnaryConstants {
  static constexpr T slope = T(training_constants::leaky_relu_slope);
  static constexpr T elu_alpha = T(training_constants::elu_alpha);
  static constexpr T selu_alpha = T(training_constants::selu_alpha);
  static constexpr T selu_lambda = T(training_constants::selu_lambda);
  static constexpr T low = T(training_constants::clip_low);
  static constexpr T high = T(training_constants::clip_high);
  static constexpr T cubic = T(training_constants::gelu_cubic);
  static constexpr T half_root = T(std::numbers::sqrt2 / 2);
  static constexpr T gelu_factor = T(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);  // √(2/π)
  static constexpr T density = T(std::numbers::inv_sqrtpi / std::numbers::sqrt2);      // 1/√(2π)
  static constexpr T erf_slope = T(2 * std::numbers::inv_sqrtpi);
  static constexpr T sixth = T(1.0 / 6);
};

/// eˣ, of what is above `most` that of `most`.
template <class T>
STRATA_INLINE T exp_up_to(T x, T most) {
  return exp_of_small(most < x ? most : x);
}

/// eˣ where mish still differs from x; beyond, 1 + eˣ is eˣ.
template <class T>
STRATA_INLINE T exp_of_mish(T x) {
  return exp_up_to(x, sizeof(T) == 4 ? T(20) : T(40));
}

template <UnaryKind kind, class T>
STRATA_INLINE T unary_value(T x) {
  using C = UnaryConstants<T>;
  if constexpr (kind == UnaryKind::relu) return x > T(0) ? x : T(0);
  if constexpr (kind == UnaryKind::relu6) return smaller_of(larger_of(x, T(0)), T(6));
  if constexpr (kind == UnaryKind::leaky_relu) return x > T(0) ? x : C::slope * x;
  if constexpr (kind == UnaryKind::elu) {
    return x > T(0) ? x : C::elu_alpha * (exp_up_to(x, T(0)) - T(1));
  }
  if constexpr (kind == UnaryKind::selu) {
    return C::selu_lambda * (x > T(0) ? x : C::selu_alpha * (exp_up_to(x, T(0)) - T(1)));
  }
  if constexpr (kind == UnaryKind::gelu) return T(0.5) * x * (T(1) + erf_of(x * C::half_root));
  if constexpr (kind == UnaryKind::gelu_tanh) {
    return T(0.5) * x * (T(1) + tanh_of(C::gelu_factor * (x + C::cubic * (x * x * x))));
  }
  if constexpr (kind == UnaryKind::silu) return x / (T(1) + exp_or_infinity(-x));
  if constexpr (kind == UnaryKind::hard_swish) {
    return x * smaller_of(larger_of(x + T(3), T(0)), T(6)) * C::sixth;
  }
  if constexpr (kind == UnaryKind::hard_sigmoid) {
    return smaller_of(larger_of(x * C::sixth + T(0.5), T(0)), T(1));
  }
  if constexpr (kind == UnaryKind::sigmoid) return sigmoid_of(x);
  if constexpr (kind == UnaryKind::tanh) return tanh_of(x);
  if constexpr (kind == UnaryKind::mish) {
    const T e = exp_of_mish(x);
    const T above = e * (e + T(2));  // (1 + e)² − 1
    return x * (above / (above + T(2)));
  }
  if constexpr (kind == UnaryKind::softplus) {
    const T distance = x > T(0) ? x : -x;
    return larger_of(x, T(0)) + log1p_of(exp_of(-distance));
  }
  if constexpr (kind == UnaryKind::softsign) return x / (T(1) + (x > T(0) ? x : -x));
  if constexpr (kind == UnaryKind::clip) return smaller_of(larger_of(x, C::low), C::high);
  if constexpr (kind == UnaryKind::negate) return -x;
  if constexpr (kind == UnaryKind::absolute) return x > T(0) ? x : -x;
  if constexpr (kind == UnaryKind::square) return x * x;
  if constexpr (kind == UnaryKind::square_root) return std::sqrt(x);
  if constexpr (kind == UnaryKind::reciprocal) return T(1) / x;
  if constexpr (kind == UnaryKind::exponential) return exp_of(x);
  if constexpr (kind == UnaryKind::logarithm) return log_of(x);
  if constexpr (kind == UnaryKind::error_function) return erf_of(x);
  if constexpr (kind == UnaryKind::sine) return std::sin(x);
  if constexpr (kind == UnaryKind::cosine) return std::cos(x);
  if constexpr (kind == UnaryKind::floor) return std::floor(x);
  if constexpr (kind == UnaryKind::ceiling) return std::ceil(x);
  if constexpr (kind == UnaryKind::round) return std::nearbyint(x);
  if constexpr (kind == UnaryKind::sign) return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
  if constexpr (kind == UnaryKind::logical_not) return x == T(0) ? T(1) : T(0);
  return x;
}

/// dy times the slope where `known` is the input or the output, as slope_from says.
template <UnaryKind kind, class T>
STRATA_INLINE T unary_gradient(T known, T dy) {
  using C = UnaryConstants<T>;
  const T x = known, y = known;
  if constexpr (kind == UnaryKind::relu) return y > T(0) ? dy : T(0);
  if constexpr (kind == UnaryKind::relu6) return y > T(0) && y < T(6) ? dy : T(0);
  if constexpr (kind == UnaryKind::leaky_relu) return y > T(0) ? dy : C::slope * dy;
  if constexpr (kind == UnaryKind::elu) return y > T(0) ? dy : dy * (y + C::elu_alpha);
  if constexpr (kind == UnaryKind::selu) {
    return y > T(0) ? C::selu_lambda * dy : dy * (y + C::selu_lambda * C::selu_alpha);
  }
  if constexpr (kind == UnaryKind::hard_sigmoid) {
    return y > T(0) && y < T(1) ? dy * C::sixth : T(0);
  }
  if constexpr (kind == UnaryKind::sigmoid) return dy * y * (T(1) - y);
  if constexpr (kind == UnaryKind::tanh) return dy * (T(1) - y * y);
  if constexpr (kind == UnaryKind::clip) return y > C::low && y < C::high ? dy : T(0);
  if constexpr (kind == UnaryKind::square_root) return T(0.5) * dy / y;
  if constexpr (kind == UnaryKind::reciprocal) return -(dy * y * y);
  if constexpr (kind == UnaryKind::exponential) return dy * y;

  if constexpr (kind == UnaryKind::gelu) {
    const T area = T(0.5) * (T(1) + erf_of(x * C::half_root));
    return dy * (area + x * (C::density * exp_of_small(T(-0.5) * (x * x))));
  }
  if constexpr (kind == UnaryKind::gelu_tanh) {
    const T square = x * x;
    const T t = tanh_of(C::gelu_factor * (x + C::cubic * (square * x)));
    const T inner = C::gelu_factor * (T(1) + T(3) * C::cubic * square);
    return dy * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner);
  }
  if constexpr (kind == UnaryKind::silu) {
    const T s = sigmoid_of(x);
    return dy * (s * (T(1) + x * (T(1) - s)));
  }
  if constexpr (kind == UnaryKind::hard_swish) {
    const T sloped = dy * (x * T(1.0 / 3) + T(0.5));
    return x <= T(-3) ? T(0) : x >= T(3) ? dy : sloped;
  }
  if constexpr (kind == UnaryKind::mish) {
    const T e = exp_of_mish(x);
    const T above = e * (e + T(2));
    const T t = above / (above + T(2));
    return dy * (t + x * (e / (T(1) + e)) * (T(1) - t * t));
  }
  if constexpr (kind == UnaryKind::softplus) return dy * sigmoid_of(x);
  if constexpr (kind == UnaryKind::softsign) {
    const T below = T(1) + (x > T(0) ? x : -x);
    return dy / (below * below);
  }
  if constexpr (kind == UnaryKind::absolute) return x > T(0) ? dy : -dy;
  if constexpr (kind == UnaryKind::square) return T(2) * x * dy;
  if constexpr (kind == UnaryKind::logarithm) return dy / x;
  if constexpr (kind == UnaryKind::error_function)
    return dy * (C::erf_slope * exp_of_small(-(x * x)));
  if constexpr (kind == UnaryKind::sine) return dy * std::cos(x);
  if constexpr (kind == UnaryKind::cosine) return -(dy * std::sin(x));
  if constexpr (kind == UnaryKind::negate) return -dy;
  return dy;
}

}  // namespace strata::cpu_training
