// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/softmax_rows.cuh"

namespace strata::cuda::train {
namespace {

template <class T, bool is_block>
__device__ void softmax_row(const SoftmaxRun& run, const RowWalk& walk, T* y, const T* x) {
  using A = Compute<T>;
  ExpSum<A> sum;
  walk.each(run.length, [&](std::int64_t at, std::int64_t) { sum.add(A(value(x[at]))); });
  if constexpr (is_block) sum = over_block(sum);
  const A log_sum = sum.log_sum();
  walk.each(run.length, [&](std::int64_t at, std::int64_t) {
    const A below = A(value(x[at])) - log_sum;
    y[at] = stored<T>(run.is_log ? below : exp(below));
  });
}

/// y (dy − Σ dy y); of the logarithm dy − exp(y) Σ dy.
template <class T, bool is_block>
__device__ void gradient_row(const SoftmaxRun& run, const RowWalk& walk, T* dx, const T* dy,
                             const T* y) {
  using A = Compute<T>;
  A sum = 0;
  walk.each(run.length, [&](std::int64_t at, std::int64_t) {
    sum += A(value(dy[at])) * (run.is_log ? A(1) : A(value(y[at])));
  });
  if constexpr (is_block) sum = sum_over_block(sum);
  walk.each(run.length, [&](std::int64_t at, std::int64_t) {
    const A d = value(dy[at]), v = value(y[at]);
    dx[at] = stored<T>(run.is_log ? d - exp(v) * sum : v * (d - sum));
  });
}

template <class T>
__global__ void softmax_of_blocks(SoftmaxRun run, T* y, const T* x) {
  softmax_row<T, true>(run, RowWalk::of_block(run), y, x);
}
template <class T>
__global__ void softmax_of_threads(SoftmaxRun run, T* y, const T* x) {
  const RowWalk walk = RowWalk::of_thread(run);
  if (walk.is_there) softmax_row<T, false>(run, walk, y, x);
}
template <class T>
__global__ void gradient_of_blocks(SoftmaxRun run, T* dx, const T* dy, const T* y) {
  gradient_row<T, true>(run, RowWalk::of_block(run), dx, dy, y);
}
template <class T>
__global__ void gradient_of_threads(SoftmaxRun run, T* dx, const T* dy, const T* y) {
  const RowWalk walk = RowWalk::of_thread(run);
  if (walk.is_there) gradient_row<T, false>(run, walk, dx, dy, y);
}

}  // namespace

void softmax(const SoftmaxRun& run, void* y, const void* x, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(y);
    const auto* const from = static_cast<const T*>(x);
    if (run.inner == 1) {
      softmax_of_blocks<<<static_cast<unsigned>(run.outer), softmax_threads(run.length), 0,
                          stream>>>(run, to, from);
    } else {
      softmax_of_threads<<<blocks_for(run.rows()), threads_per_block, 0, stream>>>(run, to, from);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void softmax_gradient(const SoftmaxRun& run, void* dx, const void* dy, const void* y,
                      cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(dx);
    const auto* const of_y = static_cast<const T*>(dy);
    const auto* const kept = static_cast<const T*>(y);
    if (run.inner == 1) {
      gradient_of_blocks<<<static_cast<unsigned>(run.outer), softmax_threads(run.length), 0,
                           stream>>>(run, to, of_y, kept);
    } else {
      gradient_of_threads<<<blocks_for(run.rows()), threads_per_block, 0, stream>>>(run, to, of_y,
                                                                                    kept);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
