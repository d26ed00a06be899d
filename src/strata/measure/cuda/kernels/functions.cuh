// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/engine/constants.hpp"

/// What one-argument functions and their slopes are, number by number. For nvcc only.
namespace strata::cuda::train {

/// a / b of ordinary numbers: of floats to two units in the last place, in few instructions (0
/// where b is above 2¹²⁶).
__device__ inline double quotient(double a, double b) { return a / b; }
__device__ inline float quotient(float a, float b) { return __fdividef(a, b); }

template <class A>
__device__ inline A logistic(A x) {
  return A(1) / (A(1) + exp(-x));
}
template <>
__device__ inline float logistic<float>(float x) {
  return quotient(1.0f, 1.0f + __expf(-x));
}

/// log(1 + exp x) without overflow.
template <class A>
__device__ inline A soft_plus(A x) {
  return (x > A(0) ? x : A(0)) + log1p(exp(-fabs(x)));
}

/// mish(x) = x tanh(log(1 + e)) with e = exp x. As exp(log(1 + e)) is 1 + e, the hyperbolic tangent
/// is n / (n + 2) with n = e² + 2e: one function instead of three. From 20 on it is 1 in fp64 as
/// well, and e is held there so that e² does not overflow.
template <class A>
struct MishParts {
  A x, e, n;
  __device__ explicit MishParts(A given) : x(given > A(20) ? A(20) : given), e(exp(x)) {
    n = e * (e + A(2));
  }
};
template <class A>
__device__ inline A mish(A x) {
  const MishParts<A> parts(x);
  return x * quotient(parts.n, parts.n + A(2));
}
/// tanh + x e/(1 + e) (1 - tanh²), where 1 - tanh² = 4 (1 + e)² / (n + 2)².
template <class A>
__device__ inline A mish_slope(A x) {
  const MishParts<A> parts(x);
  const A share = quotient(A(1), parts.n + A(2));
  return share * (parts.n + A(4) * parts.x * parts.e * (A(1) + parts.e) * share);
}

template <class A>
__device__ inline A gelu_angle(A x) {
  return A(0.79788456080286535588) * (x + A(training_constants::gelu_cubic) * x * x * x);
}

template <class A>
__device__ A function_value(UnaryKind kind, A x) {
  namespace constants = training_constants;
  const A zero(0), one(1);
  switch (kind) {
    case UnaryKind::relu: return x > zero ? x : zero;
    case UnaryKind::relu6: return x > zero ? (x < A(6) ? x : A(6)) : zero;
    case UnaryKind::leaky_relu: return x > zero ? x : A(constants::leaky_relu_slope) * x;
    case UnaryKind::prelu: return x;
    case UnaryKind::elu: return x > zero ? x : A(constants::elu_alpha) * expm1(x);
    case UnaryKind::selu:
      return A(constants::selu_lambda) * (x > zero ? x : A(constants::selu_alpha) * expm1(x));
    case UnaryKind::gelu: return A(0.5) * x * (one + erf(x * A(0.70710678118654752440)));
    case UnaryKind::gelu_tanh: return A(0.5) * x * (one + tanh(gelu_angle(x)));
    case UnaryKind::silu: return x * logistic(x);
    case UnaryKind::hard_swish: return x * fmin(fmax(x + A(3), zero), A(6)) / A(6);
    case UnaryKind::hard_sigmoid: return fmin(fmax(x / A(6) + A(0.5), zero), one);
    case UnaryKind::sigmoid: return logistic(x);
    case UnaryKind::tanh: return tanh(x);
    case UnaryKind::mish: return mish(x);
    case UnaryKind::softplus: return soft_plus(x);
    case UnaryKind::softsign: return x / (one + fabs(x));
    case UnaryKind::clip: return fmin(fmax(x, A(constants::clip_low)), A(constants::clip_high));
    case UnaryKind::identity: return x;
    case UnaryKind::negate: return -x;
    case UnaryKind::absolute: return fabs(x);
    case UnaryKind::square: return x * x;
    case UnaryKind::square_root: return sqrt(x);
    case UnaryKind::reciprocal: return one / x;
    case UnaryKind::exponential: return exp(x);
    case UnaryKind::logarithm: return log(x);
    case UnaryKind::error_function: return erf(x);
    case UnaryKind::sine: return sin(x);
    case UnaryKind::cosine: return cos(x);
    case UnaryKind::floor: return floor(x);
    case UnaryKind::ceiling: return ceil(x);
    case UnaryKind::round: return rint(x);  // half to even, as PyTorch and ONNX
    case UnaryKind::sign: return x > zero ? one : (x < zero ? -one : zero);
    case UnaryKind::logical_not: return x == zero ? one : zero;
  }
  return x;
}

/// dx of dy, from y where function_keeps_output(kind), else from x.
template <class A>
__device__ A function_gradient(UnaryKind kind, A dy, A v) {
  namespace constants = training_constants;
  const A zero(0), one(1);
  switch (kind) {
    case UnaryKind::relu: return v > zero ? dy : zero;
    case UnaryKind::relu6: return v > zero && v < A(6) ? dy : zero;
    case UnaryKind::leaky_relu: return v > zero ? dy : A(constants::leaky_relu_slope) * dy;
    case UnaryKind::elu: return v > zero ? dy : dy * (v + A(constants::elu_alpha));
    case UnaryKind::selu:
      return v > zero ? A(constants::selu_lambda) * dy
                      : dy * (v + A(constants::selu_lambda * constants::selu_alpha));
    case UnaryKind::gelu: {
      const A area = A(0.5) * (one + erf(v * A(0.70710678118654752440)));
      return dy * (area + v * A(0.39894228040143267794) * exp(A(-0.5) * v * v));
    }
    case UnaryKind::gelu_tanh: {
      const A t = tanh(gelu_angle(v));
      const A inner = A(0.79788456080286535588) * (one + A(3 * constants::gelu_cubic) * v * v);
      return dy * (A(0.5) * (one + t) + A(0.5) * v * (one - t * t) * inner);
    }
    case UnaryKind::silu: {
      const A s = logistic(v);
      return dy * s * (one + v * (one - s));
    }
    case UnaryKind::hard_swish:
      return fabs(v) < A(3) ? dy * (v / A(3) + A(0.5)) : (v > zero ? dy : zero);
    case UnaryKind::hard_sigmoid: return v > zero && v < one ? dy / A(6) : zero;
    case UnaryKind::sigmoid: return dy * v * (one - v);
    case UnaryKind::tanh: return dy * (one - v * v);
    case UnaryKind::mish: return dy * mish_slope(v);
    case UnaryKind::softplus: return dy * logistic(v);
    case UnaryKind::softsign: {
      const A below = one + fabs(v);
      return dy / (below * below);
    }
    case UnaryKind::clip:
      return v > A(constants::clip_low) && v < A(constants::clip_high) ? dy : zero;
    case UnaryKind::identity: return dy;
    case UnaryKind::negate: return -dy;
    case UnaryKind::absolute: return v > zero ? dy : -dy;
    case UnaryKind::square: return A(2) * v * dy;
    case UnaryKind::square_root: return A(0.5) * dy / v;
    case UnaryKind::reciprocal: return -dy * v * v;
    case UnaryKind::exponential: return dy * v;
    case UnaryKind::logarithm: return dy / v;
    case UnaryKind::error_function: return dy * A(1.12837916709551257390) * exp(-v * v);
    case UnaryKind::sine: return dy * cos(v);
    case UnaryKind::cosine: return -dy * sin(v);
    default: return zero;
  }
}

}  // namespace strata::cuda::train
