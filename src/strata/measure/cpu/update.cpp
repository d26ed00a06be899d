// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/update.hpp"

#include "strata/base/error.hpp"
#include "strata/measure/cpu/plain/loops.hpp"

#include <cmath>

namespace strata::cpu_training {
namespace {

using plain::parallel_for;
using plain::with_real;

/// The rules of cost/update.cpp. States are fp32, whatever the parameter is.
template <class T>
void update_numbers(const UpdateRule& rule, const UpdateMemory& u) {
  T* const w = static_cast<T*>(u.parameter);
  const T* const g = static_cast<const T*>(u.gradient);
  const T rate = static_cast<T>(rule.learning_rate);
  switch (rule.optimizer) {
    case Optimizer::none: return;
    case Optimizer::sgd:
      return parallel_for(u.elements, 1, [=](std::int64_t i) { w[i] -= rate * g[i]; });
    case Optimizer::momentum: {
      float* const v = u.states[0];
      const T momentum = static_cast<T>(rule.momentum);
      return parallel_for(u.elements, 1, [=](std::int64_t i) {
        const T velocity = momentum * static_cast<T>(v[i]) + g[i];
        v[i] = static_cast<float>(velocity);
        w[i] -= rate * velocity;
      });
    }
    case Optimizer::adam: {
      float *const first = u.states[0], *const second = u.states[1];
      const auto t = static_cast<double>(u.iteration);
      const T beta_1 = static_cast<T>(rule.beta_1), beta_2 = static_cast<T>(rule.beta_2);
      const T step = static_cast<T>(rule.learning_rate / (1 - std::pow(rule.beta_1, t)));
      const T factor = static_cast<T>(1 / std::sqrt(1 - std::pow(rule.beta_2, t)));
      const T epsilon = static_cast<T>(rule.epsilon);
      return parallel_for(u.elements, 1, [=](std::int64_t i) {
        const T m = beta_1 * static_cast<T>(first[i]) + (T(1) - beta_1) * g[i];
        const T v = beta_2 * static_cast<T>(second[i]) + (T(1) - beta_2) * g[i] * g[i];
        first[i] = static_cast<float>(m);
        second[i] = static_cast<float>(v);
        w[i] -= step * m / (std::sqrt(v) * factor + epsilon);
      });
    }
  }
}

void expect_real(DType dtype) {
  if (dtype != DType::fp32 && dtype != DType::fp64) {
    fail(ErrorKind::unsupported, "the CPU computes in fp32 and fp64, not {}", name_of(dtype));
  }
}

}  // namespace

void update_parameter(const UpdateRule& rule, const UpdateMemory& memory) {
  expect_real(memory.dtype);
  with_real(memory.dtype, [&](auto zero) { update_numbers<decltype(zero)>(rule, memory); });
}

void add_numbers(void* sum, const void* a, const void* b, std::int64_t elements, DType dtype) {
  expect_real(dtype);
  with_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const to = static_cast<T*>(sum);
    const T *const p = static_cast<const T*>(a), *const q = static_cast<const T*>(b);
    parallel_for(elements, 1, [=](std::int64_t i) { to[i] = p[i] + q[i]; });
  });
}

}  // namespace strata::cpu_training
