// SPDX-License-Identifier: Apache-2.0
// A thread takes a number and reads the window of channels around it.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/normalization.cuh"

namespace strata::cuda::train {
namespace {

using training_constants::local_response_alpha;
using training_constants::local_response_beta;
using training_constants::local_response_k;

/// One number's place: its channel, and where channel 0 of the same place is.
struct ChannelPlace {
  std::int64_t channel, origin;
  __device__ ChannelPlace(const LocalResponseRun& run, std::int64_t n)
      : channel(n / run.inner % run.channels), origin(n - channel * run.inner) {}
};

/// k + α/size Σ x² over the window of a channel.
template <class T>
__device__ Compute<T> base_of(const LocalResponseRun& run, const T* x, std::int64_t origin,
                              std::int64_t channel) {
  using A = Compute<T>;
  A sum = 0;
  for (std::int64_t j = 0; j < run.size; ++j) {
    const std::int64_t neighbour = channel + j - run.size / 2;
    if (neighbour < 0 || neighbour >= run.channels) continue;
    const A v = value(x[origin + neighbour * run.inner]);
    sum += v * v;
  }
  return A(local_response_k) + A(local_response_alpha) / A(run.size) * sum;
}

template <class T>
__global__ void respond(LocalResponseRun run, T* y, const T* x, std::int64_t count) {
  using A = Compute<T>;
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  const ChannelPlace place(run, n);
  const A base = base_of(run, x, place.origin, place.channel);
  y[n] = stored<T>(A(value(x[n])) * pow(base, A(-local_response_beta)));
}

/// dx = dy base^−β − 2αβ/size x Σ dy' x' base'^(−β−1) over the windows that hold x.
template <class T>
__global__ void respond_gradient(LocalResponseRun run, T* dx, const T* dy, const T* x,
                                 std::int64_t count) {
  using A = Compute<T>;
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  const ChannelPlace place(run, n);
  A sum = 0;
  for (std::int64_t j = 0; j < run.size; ++j) {
    const std::int64_t holder = place.channel - j + run.size / 2;
    if (holder < 0 || holder >= run.channels) continue;
    const std::int64_t at = place.origin + holder * run.inner;
    const A base = base_of(run, x, place.origin, holder);
    sum += A(value(dy[at])) * A(value(x[at])) * pow(base, A(-local_response_beta - 1));
  }
  const A factor = A(2 * local_response_alpha * local_response_beta) / A(run.size);
  const A base = base_of(run, x, place.origin, place.channel);
  dx[n] = stored<T>(A(value(dy[n])) * pow(base, A(-local_response_beta)) -
                    factor * A(value(x[n])) * sum);
}

}  // namespace

void local_response_norm(const LocalResponseRun& run, void* y, const void* x, cudaStream_t stream) {
  const std::int64_t count = run.rows * run.channels * run.inner;
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    respond<<<blocks_for(count), threads_per_block, 0, stream>>>(run, static_cast<T*>(y),
                                                                 static_cast<const T*>(x), count);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void local_response_norm_gradient(const LocalResponseRun& run, void* dx, const void* dy,
                                  const void* x, cudaStream_t stream) {
  const std::int64_t count = run.rows * run.channels * run.inner;
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    respond_gradient<<<blocks_for(count), threads_per_block, 0, stream>>>(
        run, static_cast<T*>(dx), static_cast<const T*>(dy), static_cast<const T*>(x), count);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
