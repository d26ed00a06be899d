// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/products/gemm.hpp"

#include <array>

namespace strata::cpu_training {

/// A convolution in up to three axes, seen from the side of its two tensors: `large` [N, C, …], of
/// which windows are taken, and `small` [N, K, …] with a number per window. A transposed
/// convolution has them the other way round. Weights are [K, C/groups, kernel].
struct Windows {
  std::int64_t batch = 1, large_channels = 1, small_channels = 1, groups = 1;
  std::array<std::int64_t, 3> large{1, 1, 1}, small{1, 1, 1};
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};

  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t large_space() const { return large[0] * large[1] * large[2]; }
  std::int64_t small_space() const { return small[0] * small[1] * small[2]; }
  std::int64_t weight_elements() const {
    return small_channels * (large_channels / groups) * taps();
  }
};

/// The three sums, by matrix products of unrolled windows; scratch as unrolled_scratch_elements.
template <class T>
void large_to_small(const Workers& workers, const Windows& w, const T* large, const T* weights,
                    T* small, T* scratch);
template <class T>
void small_to_large(const Workers& workers, const Windows& w, const T* small, const T* weights,
                    T* large, T* scratch);
template <class T>
void both_to_weights(const Workers& workers, const Windows& w, const T* large, const T* small,
                     T* weights, T* scratch);

std::int64_t unrolled_scratch_elements(const Workers& workers, const Windows& w);

}  // namespace strata::cpu_training
