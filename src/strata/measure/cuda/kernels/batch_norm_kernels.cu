// SPDX-License-Identifier: Apache-2.0
// A block takes a channel for its sums, then threads take numbers.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/index_map.cuh"
#include "strata/measure/cuda/kernels/normalization.cuh"

namespace strata::cuda::train {
namespace {

constexpr int channel_threads = 512;

/// Numbers of one channel, counted through the rows.
struct ChannelNumbers {
  FastDivisor inner, channels;
  std::uint32_t count;  ///< of a channel

  explicit ChannelNumbers(const BatchNormRun& run)
      : inner(static_cast<std::uint32_t>(run.inner)),
        channels(static_cast<std::uint32_t>(run.channels)),
        count(static_cast<std::uint32_t>(run.rows * run.inner)) {}
  __device__ std::int64_t place(std::uint32_t channel, std::uint32_t i) const {
    const std::uint32_t row = inner.quotient(i);
    return (std::int64_t{row} * channels.divisor + channel) * inner.divisor +
           (i - row * inner.divisor);
  }
  __device__ std::uint32_t channel_of(std::uint32_t n) const {
    const std::uint32_t line = inner.quotient(n);
    return line - channels.quotient(line) * channels.divisor;
  }
};

template <class T>
struct NormArrays {
  const T *x, *scale, *shift, *dy;
  T *y, *dx, *running_mean, *running_variance, *scale_gradient, *shift_gradient;
  Compute<T>*statistics, *sums;

  explicit NormArrays(const BatchNormMemory& m)
      : x(static_cast<const T*>(m.x)),
        scale(static_cast<const T*>(m.scale)),
        shift(static_cast<const T*>(m.shift)),
        dy(static_cast<const T*>(m.dy)),
        y(static_cast<T*>(m.y)),
        dx(static_cast<T*>(m.dx)),
        running_mean(static_cast<T*>(m.running_mean)),
        running_variance(static_cast<T*>(m.running_variance)),
        scale_gradient(static_cast<T*>(m.scale_gradient)),
        shift_gradient(static_cast<T*>(m.shift_gradient)),
        statistics(static_cast<Compute<T>*>(m.statistics)),
        sums(static_cast<Compute<T>*>(m.sums)) {}
  __device__ Compute<T> scale_of(std::uint32_t channel) const {
    return scale == nullptr ? Compute<T>(1) : Compute<T>(value(scale[channel]));
  }
};

template <class A>
__device__ A inverse_deviation(A variance) {
  return rsqrt(variance + A(training_constants::batch_norm_epsilon));
}

template <class T>
__global__ void __launch_bounds__(channel_threads)
    collect_statistics(ChannelNumbers numbers, NormArrays<T> arrays) {
  using A = Compute<T>;
  const std::uint32_t channel = blockIdx.x;
  A sum = 0, squares = 0;
  for (std::uint32_t i = threadIdx.x; i < numbers.count; i += channel_threads)
    sum += A(value(arrays.x[numbers.place(channel, i)]));
  const A mean = sum_over_block(sum) / A(numbers.count);
  for (std::uint32_t i = threadIdx.x; i < numbers.count; i += channel_threads) {
    const A d = A(value(arrays.x[numbers.place(channel, i)])) - mean;
    squares += d * d;
  }
  squares = sum_over_block(squares);
  if (threadIdx.x > 0) return;
  arrays.statistics[2 * channel] = mean;
  arrays.statistics[2 * channel + 1] = inverse_deviation(squares / A(numbers.count));
  const auto mix = [](T& running, A found) {
    const A share = A(training_constants::batch_norm_momentum);
    running = stored<T>((A(1) - share) * A(value(running)) + share * found);
  };
  mix(arrays.running_mean[channel], mean);
  mix(arrays.running_variance[channel],
      squares / A(numbers.count > 1 ? numbers.count - 1 : numbers.count));
}

template <class T>
__global__ void take_running(std::uint32_t channels, NormArrays<T> arrays) {
  const std::uint32_t channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  arrays.statistics[2 * channel] = value(arrays.running_mean[channel]);
  arrays.statistics[2 * channel + 1] =
      inverse_deviation(Compute<T>(value(arrays.running_variance[channel])));
}

template <class T>
__global__ void normalize(ChannelNumbers numbers, NormArrays<T> arrays, std::uint32_t count) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= count) return;
  const std::uint32_t channel = numbers.channel_of(n);
  const A mean = arrays.statistics[2 * channel], r = arrays.statistics[2 * channel + 1];
  A result = (A(value(arrays.x[n])) - mean) * r * arrays.scale_of(channel);
  if (arrays.shift != nullptr) result += A(value(arrays.shift[channel]));
  arrays.y[n] = stored<T>(result);
}

template <class T>
__global__ void __launch_bounds__(channel_threads)
    sum_gradients(ChannelNumbers numbers, NormArrays<T> arrays) {
  using A = Compute<T>;
  const std::uint32_t channel = blockIdx.x;
  const A mean = arrays.statistics[2 * channel], r = arrays.statistics[2 * channel + 1];
  A sum = 0, product = 0;
  for (std::uint32_t i = threadIdx.x; i < numbers.count; i += channel_threads) {
    const std::int64_t at = numbers.place(channel, i);
    const A d = value(arrays.dy[at]);
    sum += d;
    product += d * (A(value(arrays.x[at])) - mean) * r;
  }
  sum = sum_over_block(sum);
  product = sum_over_block(product);
  if (threadIdx.x > 0) return;
  arrays.sums[2 * channel] = sum;
  arrays.sums[2 * channel + 1] = product;
  if (arrays.shift_gradient != nullptr) arrays.shift_gradient[channel] = stored<T>(sum);
  if (arrays.scale_gradient != nullptr) arrays.scale_gradient[channel] = stored<T>(product);
}

/// dx = scale r (dy − mean of dy − x̂ × mean of dy x̂)
template <class T>
__global__ void spread_gradients(ChannelNumbers numbers, NormArrays<T> arrays,
                                 std::uint32_t count) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= count) return;
  const std::uint32_t channel = numbers.channel_of(n);
  const A mean = arrays.statistics[2 * channel], r = arrays.statistics[2 * channel + 1];
  const A share = A(1) / A(numbers.count);
  const A normalized = (A(value(arrays.x[n])) - mean) * r;
  const A d = A(value(arrays.dy[n])) - arrays.sums[2 * channel] * share -
              normalized * arrays.sums[2 * channel + 1] * share;
  arrays.dx[n] = stored<T>(arrays.scale_of(channel) * r * d);
}

std::uint32_t count_of(const BatchNormRun& run) {
  return static_cast<std::uint32_t>(run.rows * run.channels * run.inner);
}

}  // namespace

void batch_norm(const BatchNormRun& run, const BatchNormMemory& memory, bool is_training,
                cudaStream_t stream) {
  const ChannelNumbers numbers(run);
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    const NormArrays<T> arrays(memory);
    const auto channels = static_cast<std::uint32_t>(run.channels);
    if (is_training) {
      collect_statistics<<<channels, channel_threads, 0, stream>>>(numbers, arrays);
    } else {
      take_running<<<blocks_for(channels), threads_per_block, 0, stream>>>(channels, arrays);
    }
    normalize<<<blocks_for(count_of(run)), threads_per_block, 0, stream>>>(numbers, arrays,
                                                                           count_of(run));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void batch_norm_gradient(const BatchNormRun& run, const BatchNormMemory& memory,
                         cudaStream_t stream) {
  const ChannelNumbers numbers(run);
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    const NormArrays<T> arrays(memory);
    sum_gradients<<<static_cast<unsigned>(run.channels), channel_threads, 0, stream>>>(numbers,
                                                                                       arrays);
    if (memory.dx != nullptr)
      spread_gradients<<<blocks_for(count_of(run)), threads_per_block, 0, stream>>>(numbers, arrays,
                                                                                    count_of(run));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
