// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"
#include "strata/measure/engine/constants.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

/// Each function of one number that is an operator, and its derivative.
namespace strata::cpu_training::plain {

/// What backward computes the derivative from.
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

/// False: the function is flat wherever it does not jump.
constexpr bool has_slope(UnaryKind kind) { return kind < UnaryKind::floor; }

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
template <class T>
T softplus(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::fabs(x)));
}
/// The share of x that gelu keeps: the normal distribution, or its approximation by tanh.
template <class T>
T normal_share(T x) {
  return T(0.5) * std::erfc(-x * T(std::numbers::sqrt2 / 2));
}
template <class T>
T gelu_tanh_of(T x) {
  using training_constants::gelu_cubic;
  return std::tanh(T(std::numbers::sqrt2 * std::numbers::inv_sqrtpi) *
                   (x + T(gelu_cubic) * x * x * x));
}

template <UnaryKind kind, class T>
T unary_value(T x) {
  using namespace training_constants;
  if constexpr (kind == UnaryKind::relu) return x > T(0) ? x : T(0);
  if constexpr (kind == UnaryKind::relu6) return std::min(std::max(x, T(0)), T(6));
  if constexpr (kind == UnaryKind::leaky_relu) return x > T(0) ? x : T(leaky_relu_slope) * x;
  if constexpr (kind == UnaryKind::elu) return x > T(0) ? x : T(elu_alpha) * std::expm1(x);
  if constexpr (kind == UnaryKind::selu) {
    return T(selu_lambda) * (x > T(0) ? x : T(selu_alpha) * std::expm1(x));
  }
  if constexpr (kind == UnaryKind::gelu) return x * normal_share(x);
  if constexpr (kind == UnaryKind::gelu_tanh) return T(0.5) * x * (T(1) + gelu_tanh_of(x));
  if constexpr (kind == UnaryKind::silu) return x * sigmoid(x);
  if constexpr (kind == UnaryKind::hard_swish) {
    return x * std::min(std::max(x + T(3), T(0)), T(6)) / T(6);
  }
  if constexpr (kind == UnaryKind::hard_sigmoid) {
    return std::min(std::max(x / T(6) + T(0.5), T(0)), T(1));
  }
  if constexpr (kind == UnaryKind::sigmoid) return sigmoid(x);
  if constexpr (kind == UnaryKind::tanh) return std::tanh(x);
  if constexpr (kind == UnaryKind::mish) return x * std::tanh(softplus(x));
  if constexpr (kind == UnaryKind::softplus) return softplus(x);
  if constexpr (kind == UnaryKind::softsign) return x / (T(1) + std::fabs(x));
  if constexpr (kind == UnaryKind::clip) return std::min(std::max(x, T(clip_low)), T(clip_high));
  if constexpr (kind == UnaryKind::negate) return -x;
  if constexpr (kind == UnaryKind::absolute) return std::fabs(x);
  if constexpr (kind == UnaryKind::square) return x * x;
  if constexpr (kind == UnaryKind::square_root) return std::sqrt(x);
  if constexpr (kind == UnaryKind::reciprocal) return T(1) / x;
  if constexpr (kind == UnaryKind::exponential) return std::exp(x);
  if constexpr (kind == UnaryKind::logarithm) return std::log(x);
  if constexpr (kind == UnaryKind::error_function) return std::erf(x);
  if constexpr (kind == UnaryKind::sine) return std::sin(x);
  if constexpr (kind == UnaryKind::cosine) return std::cos(x);
  if constexpr (kind == UnaryKind::floor) return std::floor(x);
  if constexpr (kind == UnaryKind::ceiling) return std::ceil(x);
  if constexpr (kind == UnaryKind::round) return std::nearbyint(x);
  if constexpr (kind == UnaryKind::sign) return T(x > T(0)) - T(x < T(0));
  if constexpr (kind == UnaryKind::logical_not) return T(x == T(0));
  return x;
}

/// The derivative, where `known` is the input x or the output y, as slope_from says.
template <UnaryKind kind, class T>
T unary_slope(T known) {
  using namespace training_constants;
  const T x = known, y = known;
  if constexpr (kind == UnaryKind::relu) return T(y > T(0));
  if constexpr (kind == UnaryKind::relu6) return T(y > T(0) && y < T(6));
  if constexpr (kind == UnaryKind::leaky_relu) return y > T(0) ? T(1) : T(leaky_relu_slope);
  if constexpr (kind == UnaryKind::elu) return y > T(0) ? T(1) : y + T(elu_alpha);
  if constexpr (kind == UnaryKind::selu) {
    return y > T(0) ? T(selu_lambda) : y + T(selu_lambda * selu_alpha);
  }
  if constexpr (kind == UnaryKind::gelu) {
    constexpr double density_at_0 = std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;
    return normal_share(x) + x * T(density_at_0) * std::exp(T(-0.5) * x * x);
  }
  if constexpr (kind == UnaryKind::gelu_tanh) {
    const T t = gelu_tanh_of(x);
    const T inner =
        T(std::numbers::sqrt2 * std::numbers::inv_sqrtpi) * (T(1) + T(3 * gelu_cubic) * x * x);
    return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner;
  }
  if constexpr (kind == UnaryKind::silu) return sigmoid(x) * (T(1) + x * (T(1) - sigmoid(x)));
  if constexpr (kind == UnaryKind::hard_swish) {
    return x <= T(-3) ? T(0) : x >= T(3) ? T(1) : x / T(3) + T(0.5);
  }
  if constexpr (kind == UnaryKind::hard_sigmoid) return y > T(0) && y < T(1) ? T(1.0 / 6) : T(0);
  if constexpr (kind == UnaryKind::sigmoid) return y * (T(1) - y);
  if constexpr (kind == UnaryKind::tanh) return T(1) - y * y;
  if constexpr (kind == UnaryKind::mish) {
    const T t = std::tanh(softplus(x));
    return t + x * sigmoid(x) * (T(1) - t * t);
  }
  if constexpr (kind == UnaryKind::softplus) return sigmoid(x);
  if constexpr (kind == UnaryKind::softsign) {
    return T(1) / ((T(1) + std::fabs(x)) * (T(1) + std::fabs(x)));
  }
  if constexpr (kind == UnaryKind::clip) return T(y > T(clip_low) && y < T(clip_high));
  if constexpr (kind == UnaryKind::negate) return T(-1);
  if constexpr (kind == UnaryKind::absolute) return x > T(0) ? T(1) : T(-1);
  if constexpr (kind == UnaryKind::square) return T(2) * x;
  if constexpr (kind == UnaryKind::square_root) return T(0.5) / y;
  if constexpr (kind == UnaryKind::reciprocal) return -y * y;
  if constexpr (kind == UnaryKind::exponential) return y;
  if constexpr (kind == UnaryKind::logarithm) return T(1) / x;
  if constexpr (kind == UnaryKind::error_function) {
    return T(2 * std::numbers::inv_sqrtpi) * std::exp(-x * x);
  }
  if constexpr (kind == UnaryKind::sine) return std::cos(x);
  if constexpr (kind == UnaryKind::cosine) return -std::sin(x);
  return has_slope(kind) ? T(1) : T(0);
}

}  // namespace strata::cpu_training::plain
