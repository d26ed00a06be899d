// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/softmax.cuh"

/// Rows of [outer, length, inner] as kernels walk along them: a block takes a row whose numbers lie
/// together (inner is 1), and else a thread takes a row, so that neighbours read neighbours. For
/// nvcc only.
namespace strata::cuda::train {

/// Σ exp(x) = exp(most) × sum, so that nothing overflows.
template <class A>
struct ExpSum {
  A most = A(-INFINITY), sum = 0;

  __device__ void add(A x) {
    if (x > most) {
      sum = sum * exp(most - x) + A(1);
      most = x;
    } else if (most != A(-INFINITY)) {
      sum += exp(x - most);
    }
  }
  __device__ A log_sum() const { return most + log(sum); }
};

/// Every thread of the block gets the sum of all.
template <class A>
__device__ ExpSum<A> over_block(const ExpSum<A>& mine) {
  ExpSum<A> all;
  all.most = over_block(mine.most, Larger{}, A(-INFINITY));
  const A share = mine.most == A(-INFINITY) ? A(0) : mine.sum * exp(mine.most - all.most);
  all.sum = sum_over_block(share);
  return all;
}

/// Where a thread's numbers of its row are: the first, and from one to the next.
struct RowWalk {
  std::int64_t row, base, first, step;
  std::int64_t inner;
  bool is_there;

  /// Of a block's row.
  __device__ static RowWalk of_block(const SoftmaxRun& run) {
    const std::int64_t row = blockIdx.x;
    return {row, row * run.length, threadIdx.x, blockDim.x, 1, true};
  }
  /// Of a thread's row.
  __device__ static RowWalk of_thread(const SoftmaxRun& run) {
    const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::int64_t base = row / run.inner * run.length * run.inner + row % run.inner;
    return {row, base, 0, 1, run.inner, row < run.rows()};
  }
  /// Calls f(place, number of the row) for the thread's numbers.
  template <class F>
  __device__ void each(std::int64_t length, const F& f) const {
    for (std::int64_t j = first; j < length; j += step) f(base + j * inner, j);
  }
};

inline unsigned softmax_threads(std::int64_t length) {
  unsigned threads = 32;
  while (threads < length / 4 && threads < 512) threads *= 2;
  return threads;
}

}  // namespace strata::cuda::train
