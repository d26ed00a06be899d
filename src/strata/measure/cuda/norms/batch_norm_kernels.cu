// SPDX-License-Identifier: Apache-2.0
// Two kernels each way: sums over the channel in parts, then every block adds the parts of its
// channel and goes over its numbers, the last ones first: x is read twice, and what was read last
// is still in L2.
#include "strata/measure/cuda/norms/batch_norm.cuh"

namespace strata::cuda::train {
namespace {

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

/// What a block of the second kernel takes: the parts of sum_channels, in reverse.
struct MyPart {
  std::int64_t channel;
  std::uint32_t begin, end;
  __device__ explicit MyPart(const ChannelParts& parts) : channel(gridDim.x - 1 - blockIdx.x) {
    const unsigned part = gridDim.y - 1 - blockIdx.y;
    begin = parts.begin(part, gridDim.y);
    end = parts.begin(part + 1, gridDim.y);
  }
  __device__ bool is_first() const { return blockIdx.y == gridDim.y - 1 && threadIdx.x == 0; }
};

/// y = f(a, b) over the block's part, some packs at once; b may be the same as a.
template <class T, int inputs, int width, class F>
__device__ void map_part(const ChannelParts& parts, const MyPart& mine, T* y, const T* a,
                         const T* b, F f) {
  using A = Compute<T>;
  using N = Items<T, width>;
  for (std::uint32_t i = mine.begin + threadIdx.x; i < mine.end;
       i += loads_ahead * threads_per_block) {
    N na[loads_ahead], nb[loads_ahead];
    std::int64_t places[loads_ahead];
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      const std::uint32_t at = i + k * threads_per_block;
      if (at >= mine.end) continue;
      places[k] = parts.place(mine.channel, at);
      na[k] = reinterpret_cast<const N*>(a)[places[k]];
      if constexpr (inputs > 1) nb[k] = reinterpret_cast<const N*>(b)[places[k]];
    }
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      if (i + k * threads_per_block >= mine.end) continue;
      N out;
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const A v = value(na[k].item[j]);
        out.item[j] = stored<T>(f(v, inputs > 1 ? A(value(nb[k].item[j])) : v));
      }
      reinterpret_cast<N*>(y)[places[k]] = out;
    }
  }
}

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    normalize(Channel<T> memory, ChannelParts parts, const Compute<T>* partials) {
  using A = Compute<T>;
  const MyPart mine(parts);
  const A count = A(parts.count) * A(width);
  const A origin = value(memory.x[mine.channel * parts.packs.divisor * width]);
  const Statistics<A> found(sums_of(partials, mine.channel, static_cast<int>(gridDim.y)), origin,
                            count);
  if (mine.is_first()) keep_statistics(memory, mine.channel, found, count);
  map_part<T, 1, width>(parts, mine, memory.y, memory.x, memory.x,
                        scaled_by(memory, mine.channel, found.mean, found.r));
}

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    normalize_by_running(Channel<T> memory, ChannelParts parts) {
  const MyPart mine(parts);
  map_part<T, 1, width>(parts, mine, memory.y, memory.x, memory.x,
                        scaled_by_running(memory, mine.channel));
}

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    spread_gradient(Gradients<T> memory, ChannelParts parts, const Compute<T>* partials) {
  using A = Compute<T>;
  const MyPart mine(parts);
  const Pair<A> sums = sums_of(partials, mine.channel, static_cast<int>(gridDim.y));
  if (mine.is_first()) keep_gradients(memory, mine.channel, sums);
  if (memory.dx == nullptr) return;
  map_part<T, 2, width>(parts, mine, memory.dx, memory.dy, memory.x,
                        spread_of(memory, mine.channel, sums, A(parts.count) * A(width)));
}

/// Calls `launch` with how many numbers move at once and the parts of channels.
template <class T, class Launch>
void with_parts(const ChannelArray& array, bool is_packed, const Launch& launch) {
  constexpr int width = Pack<T>::size;
  if (is_packed && array.inner % width == 0) {
    launch(std::integral_constant<int, width>{},
           ChannelParts(array.rows, array.channels, array.inner / width));
  } else {
    launch(std::integral_constant<int, 1>{}, ChannelParts(array.rows, array.channels, array.inner));
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

dim3 grid_of(const ChannelArray& array) {
  return dim3(static_cast<unsigned>(array.channels),
              static_cast<unsigned>(sum_splits(layout_of(array))));
}

}  // namespace

std::int64_t batch_norm_scratch(const ChannelArray& array) {
  const std::int64_t sums = array.inner == 1 ? 2 * array.channels : 0;
  return sum_partials(layout_of(array)) + sums;
}

void batch_norm(const ChannelArray& array, const BatchNormMemory& memory, cudaStream_t stream) {
  if (array.inner == 1) return batch_norm_of_rows(array, memory, false, stream);
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    const Channel<T> channel = channel_of<T>(memory);
    auto* const partials = static_cast<A*>(memory.scratch);
    launch_sums<T, 1>(layout_of(array), channel.x, channel.x, partials,
                      Moments<T>{channel.x, array.inner, 0}, stream);
    with_parts<T>(array, is_aligned(memory.x) && is_aligned(memory.y),
                  [&](auto width, const ChannelParts& parts) {
                    normalize<T, width.value><<<grid_of(array), threads_per_block, 0, stream>>>(
                        channel, parts, partials);
                  });
  });
}

void batch_norm_of_running(const ChannelArray& array, const BatchNormMemory& memory,
                           cudaStream_t stream) {
  if (array.inner == 1) return batch_norm_of_rows(array, memory, true, stream);
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    const Channel<T> channel = channel_of<T>(memory);
    with_parts<T>(array, is_aligned(memory.x) && is_aligned(memory.y),
                  [&](auto width, const ChannelParts& parts) {
                    normalize_by_running<T, width.value>
                        <<<grid_of(array), threads_per_block, 0, stream>>>(channel, parts);
                  });
  });
}

void batch_norm_gradient(const ChannelArray& array, const BatchNormMemory& memory,
                         cudaStream_t stream) {
  if (array.inner == 1) return batch_norm_gradient_of_rows(array, memory, stream);
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    const Gradients<T> gradients = gradients_of<T>(memory);
    auto* const partials = static_cast<A*>(memory.scratch);
    launch_sums<T, 2>(layout_of(array), gradients.dy, gradients.x, partials,
                      GradientSums<T>{gradients.statistics, 0}, stream);
    const bool is_packed = is_aligned(memory.x) && is_aligned(memory.dy) && is_aligned(memory.dx);
    with_parts<T>(array, is_packed, [&](auto width, const ChannelParts& parts) {
      spread_gradient<T, width.value>
          <<<grid_of(array), threads_per_block, 0, stream>>>(gradients, parts, partials);
    });
  });
}

}  // namespace strata::cuda::train
