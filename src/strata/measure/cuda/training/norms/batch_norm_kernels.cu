// SPDX-License-Identifier: Apache-2.0
// Two kernels each way: sums over the channel in parts, then every block adds the parts of its
// channel and goes over its numbers. x is read twice; of all but the largest layers the second
// reading comes from L2.
#include "strata/measure/cuda/training/norms/normalization.cuh"
#include "strata/measure/cuda/training/sums/sums.cuh"
#include "strata/measure/training/constants.hpp"

namespace strata::cuda::train {
namespace {

// Differences to some number of the channel, lest the square of a large mean swallow the variance.
template <class T>
struct Moments {
  using A = Compute<T>;
  const T* x;
  std::int64_t inner;
  A origin;
  __device__ void begin(std::int64_t, std::int64_t channel) { origin = value(x[channel * inner]); }
  __device__ void add(A a, A, A& first, A& second) const {
    const A d = a - origin;
    first += d;
    second += d * d;
  }
};

template <class T>
struct GradientSums {
  using A = Compute<T>;
  const A* statistics;
  A mean;
  __device__ void begin(std::int64_t, std::int64_t channel) { mean = statistics[2 * channel]; }
  __device__ void add(A dy, A x, A& first, A& second) const {
    first += dy;
    second += dy * (x - mean);
  }
};

template <class A>
struct Pair {
  A first, second;
};

/// The sums of one channel, the same for every thread of the block.
template <class A>
__device__ Pair<A> sums_of(const A* partials, std::int64_t channel, int splits) {
  __shared__ Pair<A> shared;
  if (threadIdx.x < 32) {
    A a = 0, b = 0;
    for (int i = static_cast<int>(threadIdx.x); i < splits; i += 32) {
      a += partials[2 * (channel * splits + i)];
      b += partials[2 * (channel * splits + i) + 1];
    }
    for (int step = 16; step > 0; step /= 2) {
      a += __shfl_xor_sync(~0u, a, step);
      b += __shfl_xor_sync(~0u, b, step);
    }
    if (threadIdx.x == 0) shared = {a, b};
  }
  __syncthreads();
  return shared;
}

/// Where a block of the second kernel is: block (channel, split) of planes as in sum_channels.
template <class T, int width, class F>
__device__ void over_my_planes(std::int64_t rows, std::int64_t inner, unsigned along_inner, F f) {
  const std::int64_t channel = blockIdx.x, channels = gridDim.x;
  const unsigned x = threadIdx.x % along_inner, y = threadIdx.x / along_inner;
  const unsigned row_threads = blockDim.x / along_inner;
  const std::int64_t packs = inner / width;
  for (std::int64_t row = blockIdx.y * row_threads + y; row < rows;
       row += std::int64_t{gridDim.y} * row_threads) {
    const std::int64_t plane = (row * channels + channel) * packs;
    for (std::int64_t i = x; i < packs; i += along_inner) f(plane + i);
  }
}

template <class T, int width>
struct alignas(width * sizeof(T)) Numbers {
  T item[width];
};

/// y = factor x + offset over the block's planes.
template <class T, int width>
__device__ void scale_planes(T* y, const T* x, std::int64_t rows, std::int64_t inner,
                             unsigned along_inner, Compute<T> mean, Compute<T> factor,
                             Compute<T> offset) {
  using A = Compute<T>;
  using N = Numbers<T, width>;
  over_my_planes<T, width>(rows, inner, along_inner, [&](std::int64_t at) {
    const N in = reinterpret_cast<const N*>(x)[at];
    N out;
#pragma unroll
    for (int k = 0; k < width; ++k)
      out.item[k] = stored<T>((A(value(in.item[k])) - mean) * factor + offset);
    reinterpret_cast<N*>(y)[at] = out;
  });
}

template <class T>
struct Channel {
  const T *x, *scale, *shift;
  T *y, *running_mean, *running_variance;
  Compute<T>* statistics;
};

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    normalize(Channel<T> memory, std::int64_t rows, std::int64_t inner, unsigned along_inner,
              const Compute<T>* partials) {
  using A = Compute<T>;
  const std::int64_t channel = blockIdx.x;
  const Pair<A> sums = sums_of(partials, channel, static_cast<int>(gridDim.y));
  const A count = A(rows) * A(inner);
  const A shifted = sums.first / count;
  const A mean = A(value(memory.x[channel * inner])) + shifted;
  A variance = sums.second / count - shifted * shifted;
  variance = variance > A(0) ? variance : A(0);
  const A r = rsqrt(variance + A(training_constants::batch_norm_epsilon));
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    memory.statistics[2 * channel] = mean;
    memory.statistics[2 * channel + 1] = r;
    const A m = A(training_constants::batch_norm_momentum);
    const A unbiased = count > A(1) ? variance * count / (count - A(1)) : variance;
    memory.running_mean[channel] =
        stored<T>((A(1) - m) * A(value(memory.running_mean[channel])) + m * mean);
    memory.running_variance[channel] =
        stored<T>((A(1) - m) * A(value(memory.running_variance[channel])) + m * unbiased);
  }
  const A factor = memory.scale != nullptr ? r * A(value(memory.scale[channel])) : r;
  const A offset = memory.shift != nullptr ? A(value(memory.shift[channel])) : A(0);
  scale_planes<T, width>(memory.y, memory.x, rows, inner, along_inner, mean, factor, offset);
}

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    normalize_by_running(Channel<T> memory, std::int64_t rows, std::int64_t inner,
                         unsigned along_inner) {
  using A = Compute<T>;
  const std::int64_t channel = blockIdx.x;
  const A r =
      rsqrt(A(value(memory.running_variance[channel])) + A(training_constants::batch_norm_epsilon));
  const A factor = memory.scale != nullptr ? r * A(value(memory.scale[channel])) : r;
  const A offset = memory.shift != nullptr ? A(value(memory.shift[channel])) : A(0);
  scale_planes<T, width>(memory.y, memory.x, rows, inner, along_inner,
                         A(value(memory.running_mean[channel])), factor, offset);
}

template <class T>
struct Gradients {
  const T *x, *dy, *scale;
  T *dx, *scale_gradient, *shift_gradient;
  const Compute<T>* statistics;
};

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    spread_gradient(Gradients<T> memory, std::int64_t rows, std::int64_t inner,
                    unsigned along_inner, const Compute<T>* partials) {
  using A = Compute<T>;
  using N = Numbers<T, width>;
  const std::int64_t channel = blockIdx.x;
  const Pair<A> sums = sums_of(partials, channel, static_cast<int>(gridDim.y));
  const A mean = memory.statistics[2 * channel], r = memory.statistics[2 * channel + 1];
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    if (memory.shift_gradient != nullptr) memory.shift_gradient[channel] = stored<T>(sums.first);
    if (memory.scale_gradient != nullptr)
      memory.scale_gradient[channel] = stored<T>(sums.second * r);
  }
  if (memory.dx == nullptr) return;
  const A count = A(rows) * A(inner);
  const A factor = memory.scale != nullptr ? r * A(value(memory.scale[channel])) : r;
  const A mean_dy = sums.first / count;
  const A slope = sums.second * r * r / count;  // (x − mean)·r·Σdy·x̂/count, x̂ = (x − mean)·r
  over_my_planes<T, width>(rows, inner, along_inner, [&](std::int64_t at) {
    const N x = reinterpret_cast<const N*>(memory.x)[at];
    const N dy = reinterpret_cast<const N*>(memory.dy)[at];
    N out;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      out.item[k] = stored<T>(
          factor * (A(value(dy.item[k])) - mean_dy - (A(value(x.item[k])) - mean) * slope));
    }
    reinterpret_cast<N*>(memory.dx)[at] = out;
  });
}

/// Calls `launch` with how many numbers move at once.
template <class T, class Launch>
void with_width(std::int64_t inner, bool is_packed, const Launch& launch) {
  constexpr int width = Pack<T>::size;
  if (is_packed && inner % width == 0) {
    launch(std::integral_constant<int, width>{}, inner_threads(inner / width));
  } else {
    launch(std::integral_constant<int, 1>{}, inner_threads(inner));
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

template <class T>
Channel<T> channel_of(const BatchNormMemory& memory) {
  return {static_cast<const T*>(memory.x),
          static_cast<const T*>(memory.scale),
          static_cast<const T*>(memory.shift),
          static_cast<T*>(memory.y),
          static_cast<T*>(memory.running_mean),
          static_cast<T*>(memory.running_variance),
          static_cast<Compute<T>*>(memory.statistics)};
}

dim3 grid_of(const ChannelArray& array) {
  return dim3(static_cast<unsigned>(array.channels),
              static_cast<unsigned>(channel_splits(array.rows, array.channels)));
}

}  // namespace

std::int64_t batch_norm_scratch(const ChannelArray& array) {
  return channel_partials(array.rows, array.channels);
}

void batch_norm(const ChannelArray& array, const BatchNormMemory& memory, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    const auto* const x = static_cast<const T*>(memory.x);
    auto* const partials = static_cast<Compute<T>*>(memory.scratch);
    launch_channel_sums<T, 1>(x, x, array.rows, array.channels, array.inner, partials,
                              Moments<T>{x, array.inner, 0}, stream);
    with_width<T>(array.inner, is_aligned(memory.x) && is_aligned(memory.y),
                  [&](auto width, unsigned along) {
                    normalize<T, width.value><<<grid_of(array), threads_per_block, 0, stream>>>(
                        channel_of<T>(memory), array.rows, array.inner, along, partials);
                  });
  });
}

void batch_norm_of_running(const ChannelArray& array, const BatchNormMemory& memory,
                           cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    with_width<T>(
        array.inner, is_aligned(memory.x) && is_aligned(memory.y), [&](auto width, unsigned along) {
          normalize_by_running<T, width.value><<<grid_of(array), threads_per_block, 0, stream>>>(
              channel_of<T>(memory), array.rows, array.inner, along);
        });
  });
}

void batch_norm_gradient(const ChannelArray& array, const BatchNormMemory& memory,
                         cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const partials = static_cast<Compute<T>*>(memory.scratch);
    const auto* const statistics = static_cast<const Compute<T>*>(memory.statistics);
    const auto* const x = static_cast<const T*>(memory.x);
    const auto* const dy = static_cast<const T*>(memory.dy);
    launch_channel_sums<T, 2>(dy, x, array.rows, array.channels, array.inner, partials,
                              GradientSums<T>{statistics, 0}, stream);
    const Gradients<T> gradients{x,
                                 dy,
                                 static_cast<const T*>(memory.scale),
                                 static_cast<T*>(memory.dx),
                                 static_cast<T*>(memory.scale_gradient),
                                 static_cast<T*>(memory.shift_gradient),
                                 statistics};
    const bool is_packed = is_aligned(x) && is_aligned(dy) && is_aligned(memory.dx);
    with_width<T>(array.inner, is_packed, [&](auto width, unsigned along) {
      spread_gradient<T, width.value><<<grid_of(array), threads_per_block, 0, stream>>>(
          gradients, array.rows, array.inner, along, partials);
    });
  });
}

}  // namespace strata::cuda::train
