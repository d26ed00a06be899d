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
  static T sum(const T* x, std::int64_t count) { return sum_loop(x, count); }
  static PairOfSums<T> moments(const T* x, T base, std::int64_t count) {
    return moments_loop(x, base, count);
  }
  static PairOfSums<T> with_normalized(const T* dy, const T* scale, const T* x, T mean, T factor,
                                       std::int64_t count) {
    return with_normalized_loop(dy, scale, x, mean, factor, count);
  }
  static void line(const T* x, T a, T b, const T* scale, const T* shift, T* y, std::int64_t count) {
    line_loop(x, a, b, scale, shift, y, count);
  }
  static void centred(const T* dy, const T* scale, const T* x, T a, T mean, T slope, T offset,
                      T factor, T* dx, std::int64_t count) {
    centred_loop(dy, scale, x, a, mean, slope, offset, factor, dx, count);
  }
  static void add_parameters(const T* dy, const T* x, T mean, T factor, T* d_scale, T* d_shift,
                             std::int64_t count) {
    add_parameters_loop(dy, x, mean, factor, d_scale, d_shift, count);
  }
  static void drop(const T* x, std::uint32_t key, std::uint32_t first, std::uint32_t threshold,
                   T scale, T* y, std::uint8_t* mask, std::int64_t count) {
    drop_loop(x, key, first, threshold, scale, y, mask, count);
  }
  static void keep(const T* dy, const std::uint8_t* mask, T scale, T* dx, std::int64_t count) {
    keep_loop(dy, mask, scale, dx, count);
  }
  static void larger_row(const T* x, std::int32_t first, T* most, std::int32_t* places,
                         std::int64_t count) {
    larger_row_loop(x, first, most, places, count);
  }
  static void larger_taps(const T* x, const std::int32_t* from, std::int64_t stride, T* most,
                          std::int32_t* places, std::int64_t count) {
    // The common strides as constants, so that vectors can be loaded.
    if (stride == 1) return larger_taps_loop(x, from, 1, most, places, count);
    if (stride == 2) return larger_taps_loop(x, from, 2, most, places, count);
    larger_taps_loop(x, from, stride, most, places, count);
  }

  template <std::size_t... kinds>
  static VectorLoops<T> table(std::index_sequence<kinds...>) {
    return {.apply = {apply<static_cast<UnaryKind>(kinds)>...},
            .gradient = {gradient<static_cast<UnaryKind>(kinds)>...},
            .maximum = maximum,
            .exp_shifted = exp_shifted,
            .dot = dot,
            .sum = sum,
            .moments = moments,
            .with_normalized = with_normalized,
            .line = line,
            .centred = centred,
            .add_parameters = add_parameters,
            .drop = drop,
            .keep = keep,
            .larger_row = larger_row,
            .larger_taps = larger_taps};
  }
};

}  // namespace strata::cpu_training
