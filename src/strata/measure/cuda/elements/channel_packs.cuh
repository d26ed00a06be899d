// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/elements/pointwise.cuh"
#include "strata/measure/cuda/index_map.cuh"

/// Functions of numbers and of the channel that each belongs to, over arrays [rows, channels,
/// inner]. Threads move 16 bytes whatever `inner` is: one division finds the channel of a pack's
/// first number, and the others are counted from there. For nvcc only.
namespace strata::cuda::train {

/// Where a number is: its channel, and how many numbers of it come before the next channel's.
struct ChannelPlace {
  std::uint32_t channel, left;
};

class ChannelWalk {
 public:
  explicit ChannelWalk(const ChannelArray& array)
      : inner_(static_cast<std::uint32_t>(array.inner)),
        channels_(static_cast<std::uint32_t>(array.channels)) {}

  __device__ ChannelPlace place(std::uint32_t n) const {
    const std::uint32_t line = inner_.quotient(n);
    const std::uint32_t row = channels_.quotient(line);
    return {line - row * channels_.divisor, (line + 1) * inner_.divisor - n};
  }
  __device__ ChannelPlace after(ChannelPlace place) const {
    if (place.left > 1) return {place.channel, place.left - 1};
    const std::uint32_t next = place.channel + 1;
    return {next < channels_.divisor ? next : 0, inner_.divisor};
  }

 private:
  FastDivisor inner_, channels_;
};

/// y = f(a, b, channel); of fewer than two inputs, f gets zeros. is_one_channel: no pack holds
/// numbers of two channels.
template <class T, int inputs, bool is_one_channel, class F>
__global__ void __launch_bounds__(threads_per_block)
    map_channel_packs(T* y, const T* a, const T* b, ChannelWalk walk, std::int64_t count,
                      bool is_packed, F f) {
  using A = Compute<T>;
  constexpr int size = Pack<T>::size;
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t begin = at * size;
  if (begin >= count) return;
  ChannelPlace place = walk.place(static_cast<std::uint32_t>(begin));
  if (is_packed && begin + size <= count) {
    Pack<T> of_a{}, of_b{}, result;
    if constexpr (inputs > 0) of_a = reinterpret_cast<const Pack<T>*>(a)[at];
    if constexpr (inputs > 1) of_b = reinterpret_cast<const Pack<T>*>(b)[at];
#pragma unroll
    for (int i = 0; i < size; ++i) {
      result.item[i] = stored<T>(f(A(value(of_a.item[i])), A(value(of_b.item[i])), place.channel));
      if constexpr (!is_one_channel) place = walk.after(place);
    }
    reinterpret_cast<Pack<T>*>(y)[at] = result;
    return;
  }
#pragma unroll 1
  for (std::int64_t i = begin; i < begin + size && i < count; ++i) {
    const A of_a = inputs > 0 ? A(value(a[i])) : A(0), of_b = inputs > 1 ? A(value(b[i])) : A(0);
    y[i] = stored<T>(f(of_a, of_b, place.channel));
    place = walk.after(place);
  }
}

/// `y` may be one of the inputs.
template <class T, int inputs, class F>
void map_channels(const ChannelArray& array, T* y, const T* a, const T* b, F f,
                  cudaStream_t stream) {
  const bool is_packed =
      is_aligned(y) && (inputs < 1 || is_aligned(a)) && (inputs < 2 || is_aligned(b));
  const auto launch = [&](auto kernel) {
    kernel<<<blocks_for(array.count(), threads_per_block * Pack<T>::size), threads_per_block, 0,
             stream>>>(y, a, b, ChannelWalk(array), array.count(), is_packed, f);
  };
  if (array.inner % Pack<T>::size == 0) {
    launch(map_channel_packs<T, inputs, true, F>);
  } else {
    launch(map_channel_packs<T, inputs, false, F>);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
