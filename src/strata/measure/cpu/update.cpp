// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/update.hpp"

#include "strata/base/error.hpp"
#include "strata/measure/cpu/setting.hpp"

#include <cmath>

namespace strata::cpu_training {
namespace {

/// The rules of cost/update.cpp, over begin … end.
template <class T>
void update_range(const UpdateRule& rule, const UpdateMemory& u, std::int64_t begin,
                  std::int64_t end) {
  T* const w = real<T>(u.parameter);
  const T* const g = static_cast<const T*>(u.gradient);
  const T rate = static_cast<T>(rule.learning_rate);
  switch (rule.optimizer) {
    case Optimizer::none: return;
    case Optimizer::sgd:
      for (std::int64_t i = begin; i < end; ++i) w[i] -= rate * g[i];
      return;
    case Optimizer::momentum: {
      float* const v = u.states[0];
      const T momentum = static_cast<T>(rule.momentum);
      for (std::int64_t i = begin; i < end; ++i) {
        const T moved = momentum * static_cast<T>(v[i]) + g[i];
        v[i] = static_cast<float>(moved);
        w[i] -= rate * moved;
      }
      return;
    }
    case Optimizer::adam: {
      float *const first = u.states[0], *const second = u.states[1];
      const auto t = static_cast<double>(u.iteration);
      const T beta_1 = static_cast<T>(rule.beta_1), beta_2 = static_cast<T>(rule.beta_2);
      const T step = static_cast<T>(rule.learning_rate / (1 - std::pow(rule.beta_1, t)));
      const T factor = static_cast<T>(1 / std::sqrt(1 - std::pow(rule.beta_2, t)));
      const T epsilon = static_cast<T>(rule.epsilon);
      for (std::int64_t i = begin; i < end; ++i) {
        const T m = beta_1 * static_cast<T>(first[i]) + (T(1) - beta_1) * g[i];
        const T v = beta_2 * static_cast<T>(second[i]) + (T(1) - beta_2) * g[i] * g[i];
        first[i] = static_cast<float>(m);
        second[i] = static_cast<float>(v);
        w[i] -= step * m / (std::sqrt(v) * factor + epsilon);
      }
      return;
    }
  }
}

void expect_real(DType dtype) {
  if (dtype != DType::fp32 && dtype != DType::fp64) {
    fail(ErrorKind::unsupported, "the CPU computes in fp32 and fp64, not {}", name_of(dtype));
  }
}

}  // namespace

void update_parameter(const Workers& workers, const UpdateRule& rule, const UpdateMemory& memory) {
  expect_real(memory.dtype);
  workers.ranges(memory.elements, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
    with_real(memory.dtype,
              [&](auto zero) { update_range<decltype(zero)>(rule, memory, begin, end); });
  });
}

void add_numbers(const Workers& workers, void* sum, const void* a, const void* b,
                 std::int64_t elements, DType dtype) {
  expect_real(dtype);
  workers.ranges(elements, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
    with_real(dtype, [&](auto zero) {
      using T = decltype(zero);
      T* const to = real<T>(sum);
      const T *const p = static_cast<const T*>(a), *const q = static_cast<const T*>(b);
      for (std::int64_t i = begin; i < end; ++i) to[i] = p[i] + q[i];
    });
  });
}

}  // namespace strata::cpu_training
