// SPDX-License-Identifier: Apache-2.0
// Point by point, but where the point is matters.
#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/training/element.cuh"
#include "strata/measure/cuda/training/elements/functions.cuh"
#include "strata/measure/cuda/training/elements/pointwise.cuh"
#include "strata/measure/cuda/training/index_map.cuh"

namespace strata::cuda::train {
namespace {

__device__ std::int64_t this_thread() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

template <class T, class F>
__global__ void over_channels(std::int64_t count, FastDivisor inner, FastDivisor channels, F f) {
  const std::int64_t i = this_thread();
  if (i >= count) return;
  const std::uint32_t row = inner.quotient(static_cast<std::uint32_t>(i));
  f(i, row - channels.quotient(row) * channels.divisor);
}

template <class T, class F>
void launch_over_channels(const ChannelArray& array, F f, cudaStream_t stream) {
  over_channels<T><<<blocks_for(array.count()), threads_per_block, 0, stream>>>(
      array.count(), FastDivisor(static_cast<std::uint32_t>(array.inner)),
      FastDivisor(static_cast<std::uint32_t>(array.channels)), f);
  STRATA_CUDA_CALL(cudaGetLastError());
}

template <class T>
struct PreluValue {
  T* y;
  const T *x, *slope;
  __device__ void operator()(std::int64_t i, std::uint32_t channel) const {
    const Compute<T> v = value(x[i]);
    y[i] = stored<T>(v > 0 ? v : value(slope[channel]) * v);
  }
};
template <class T>
struct PreluGradient {
  T* dx;
  const T *dy, *x, *slope;
  __device__ void operator()(std::int64_t i, std::uint32_t channel) const {
    const Compute<T> d = value(dy[i]);
    dx[i] = stored<T>(value(x[i]) > 0 ? d : value(slope[channel]) * d);
  }
};
template <class T>
struct BiasAdd {
  T* y;
  const T* bias;
  __device__ void operator()(std::int64_t i, std::uint32_t channel) const {
    y[i] = stored<T>(Compute<T>(value(y[i])) + value(bias[channel]));
  }
};
template <class T>
struct YoloValue {
  T* y;
  const T* x;
  std::uint32_t entries;
  __device__ void operator()(std::int64_t i, std::uint32_t channel) const {
    const std::uint32_t entry = channel % entries;
    const Compute<T> v = value(x[i]);
    y[i] = stored<T>(entry == 2 || entry == 3 ? v : logistic(v));
  }
};
template <class T>
struct YoloGradient {
  T* dx;
  const T *dy, *y;
  std::uint32_t entries;
  __device__ void operator()(std::int64_t i, std::uint32_t channel) const {
    const std::uint32_t entry = channel % entries;
    const Compute<T> d = value(dy[i]), v = value(y[i]);
    dx[i] = stored<T>(entry == 2 || entry == 3 ? d : d * v * (Compute<T>(1) - v));
  }
};

// Planes of a whole number of packs: the channel is the block's, and 16 bytes move at a time.
template <class T>
__global__ void add_bias_to_planes(T* y, const T* bias, int packs, FastDivisor channels,
                                   std::uint32_t planes) {
  const std::uint32_t plane = blockIdx.y + gridDim.y * blockIdx.z;
  if (plane >= planes) return;
  const std::uint32_t channel = plane - channels.quotient(plane) * channels.divisor;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= packs) return;
  const Compute<T> b = value(bias[channel]);
  auto* to = reinterpret_cast<Pack<T>*>(y) + std::int64_t{plane} * packs + at;
  Pack<T> pack = *to;
#pragma unroll
  for (int i = 0; i < Pack<T>::size; ++i)
    pack.item[i] = stored<T>(Compute<T>(value(pack.item[i])) + b);
  *to = pack;
}

template <class T>
__global__ void drop(T* y, std::uint8_t* mask, const T* x, std::int64_t count, std::uint32_t node,
                     std::uint64_t threshold, Compute<T> scale) {
  const std::int64_t i = this_thread();
  if (i >= count) return;
  const bool keeps =
      training_constants::dropout_keeps(node, static_cast<std::uint64_t>(i), threshold);
  y[i] = stored<T>(keeps ? Compute<T>(value(x[i])) * scale : Compute<T>(0));
  mask[i] = keeps;
}

template <class T>
__global__ void drop_gradient(T* dx, const std::uint8_t* mask, const T* dy, std::int64_t count,
                              Compute<T> scale) {
  const std::int64_t i = this_thread();
  if (i < count) dx[i] = stored<T>(mask[i] ? Compute<T>(value(dy[i])) * scale : Compute<T>(0));
}

template <class T>
__global__ void rotate_pairs(RotaryRun run, T* y, const T* x, const T* cosine, const T* sine) {
  const std::int64_t n = this_thread();
  if (n >= run.samples * run.times * run.heads * run.pairs) return;
  const std::int64_t pair = n % run.pairs, head = n / run.pairs % run.heads;
  const std::int64_t row = n / run.pairs / run.heads;
  const std::int64_t table = row % run.times * run.pairs + pair;
  const std::int64_t first = (row * run.heads + head) * 2 * run.pairs + pair;
  const std::int64_t second = first + run.pairs;
  using A = Compute<T>;
  const A c = value(cosine[table]);
  const A s = run.is_reversed ? -A(value(sine[table])) : A(value(sine[table]));
  const A a = value(x[first]), b = value(x[second]);
  y[first] = stored<T>(a * c - b * s);
  y[second] = stored<T>(a * s + b * c);
}

}  // namespace

void parametric_relu(const ChannelArray& array, void* y, const void* x, const void* slope,
                     cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    launch_over_channels<T>(
        array,
        PreluValue<T>{static_cast<T*>(y), static_cast<const T*>(x), static_cast<const T*>(slope)},
        stream);
  });
}

void parametric_relu_gradient(const ChannelArray& array, void* dx, const void* dy, const void* x,
                              const void* slope, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    launch_over_channels<T>(
        array,
        PreluGradient<T>{static_cast<T*>(dx), static_cast<const T*>(dy), static_cast<const T*>(x),
                         static_cast<const T*>(slope)},
        stream);
  });
}

void add_channel_bias(const ChannelArray& array, void* y, const void* bias, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    const std::int64_t planes = array.rows * array.channels;
    constexpr std::int64_t most_y = 65535;
    if (array.inner % Pack<T>::size == 0 && is_aligned(y)) {
      const int packs = static_cast<int>(array.inner / Pack<T>::size);
      const int threads = packs < threads_per_block ? (packs + 31) / 32 * 32 : threads_per_block;
      const auto depth = static_cast<unsigned>((planes + most_y - 1) / most_y);
      const auto height = static_cast<unsigned>((planes + depth - 1) / depth);
      add_bias_to_planes<<<dim3(blocks_for(packs, threads), height, depth), threads, 0, stream>>>(
          static_cast<T*>(y), static_cast<const T*>(bias), packs,
          FastDivisor(static_cast<std::uint32_t>(array.channels)),
          static_cast<std::uint32_t>(planes));
      STRATA_CUDA_CALL(cudaGetLastError());
      return;
    }
    launch_over_channels<T>(array, BiasAdd<T>{static_cast<T*>(y), static_cast<const T*>(bias)},
                            stream);
  });
}

void yolo(const ChannelArray& array, std::int64_t entries, void* y, const void* x,
          cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    launch_over_channels<T>(array,
                            YoloValue<T>{static_cast<T*>(y), static_cast<const T*>(x),
                                         static_cast<std::uint32_t>(entries)},
                            stream);
  });
}

void yolo_gradient(const ChannelArray& array, std::int64_t entries, void* dx, const void* dy,
                   const void* y, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    launch_over_channels<T>(
        array,
        YoloGradient<T>{static_cast<T*>(dx), static_cast<const T*>(dy), static_cast<const T*>(y),
                        static_cast<std::uint32_t>(entries)},
        stream);
  });
}

void drop_out(const DropoutRun& run, void* y, std::uint8_t* mask, const void* x,
              cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    drop<<<blocks_for(run.count), threads_per_block, 0, stream>>>(
        static_cast<T*>(y), mask, static_cast<const T*>(x), run.count, run.node,
        training_constants::dropout_threshold(run.probability),
        static_cast<Compute<T>>(training_constants::dropout_scale(run.probability)));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void drop_out_gradient(const DropoutRun& run, void* dx, const std::uint8_t* mask, const void* dy,
                       cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    drop_gradient<<<blocks_for(run.count), threads_per_block, 0, stream>>>(
        static_cast<T*>(dx), mask, static_cast<const T*>(dy), run.count,
        static_cast<Compute<T>>(training_constants::dropout_scale(run.probability)));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void rotate(const RotaryRun& run, void* y, const void* x, const void* cosine, const void* sine,
            cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    rotate_pairs<<<blocks_for(run.samples * run.times * run.heads * run.pairs), threads_per_block,
                   0, stream>>>(run, static_cast<T*>(y), static_cast<const T*>(x),
                                static_cast<const T*>(cosine), static_cast<const T*>(sine));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
