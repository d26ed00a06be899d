// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/vector_loops.hpp"

/// The loops as the compiler's baseline runs them.
namespace strata::cpu_training {

template <class T>
struct PlainLoops {
  template <UnaryKind kind>
  static void apply(const T* x, T* y, std::int64_t count) {
    apply_loop<kind>(x, y, count);
  }
  template <UnaryKind kind>
  static void gradient(const T* known, const T* dy, T* dx, std::int64_t count) {
    gradient_loop<kind>(known, dy, dx, count);
  }
  static T maximum(const T* x, std::int64_t count) { return maximum_loop(x, count); }
  static T exp_shifted(const T* x, T shift, T* y, std::int64_t count) {
    return exp_shifted_loop(x, shift, y, count);
  }
  static T dot(const T* a, const T* b, std::int64_t count) { return dot_loop(a, b, count); }
  static T sum(const T* x, std::int64_t count) { return plain_sum_loop(x, count); }

  template <std::size_t... kinds>
  static VectorLoops<T> table(std::index_sequence<kinds...>) {
    return {.apply = {apply<static_cast<UnaryKind>(kinds)>...},
            .gradient = {gradient<static_cast<UnaryKind>(kinds)>...},
            .maximum = maximum,
            .exp_shifted = exp_shifted,
            .dot = dot,
            .sum = sum};
  }
};

}  // namespace strata::cpu_training
