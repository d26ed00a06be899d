// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/norms/normalization.cuh"
#include "strata/measure/cuda/sums/reduce.cuh"
#include "strata/measure/cuda/sums/sums.cuh"
#include "strata/measure/engine/constants.hpp"

/// What batch normalisation of planes and of rows have in common. For nvcc only.
namespace strata::cuda::train {

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

template <class T>
struct Channel {
  const T *x, *scale, *shift;
  T *y, *running_mean, *running_variance;
  Compute<T>* statistics;
};

/// y = (x − mean) factor + offset
template <class A>
struct Scaled {
  A mean, factor, offset;
  __device__ A operator()(A x, A) const { return (x - mean) * factor + offset; }
};

/// Mean and 1/deviation of a channel from sums of differences to its first number.
template <class A>
struct Statistics {
  A mean, variance, r;
  __device__ Statistics(Pair<A> sums, A origin, A count) {
    const A shifted = sums.first / count;
    mean = origin + shifted;
    variance = sums.second / count - shifted * shifted;
    variance = variance > A(0) ? variance : A(0);
    r = rsqrt(variance + A(training_constants::batch_norm_epsilon));
  }
};

/// Keeps statistics for backward and in the running ones.
template <class T>
__device__ void keep_statistics(const Channel<T>& memory, std::int64_t channel,
                                const Statistics<Compute<T>>& found, Compute<T> count) {
  using A = Compute<T>;
  memory.statistics[2 * channel] = found.mean;
  memory.statistics[2 * channel + 1] = found.r;
  const A m = A(training_constants::batch_norm_momentum);
  const A unbiased = count > A(1) ? found.variance * count / (count - A(1)) : found.variance;
  memory.running_mean[channel] =
      stored<T>((A(1) - m) * A(value(memory.running_mean[channel])) + m * found.mean);
  memory.running_variance[channel] =
      stored<T>((A(1) - m) * A(value(memory.running_variance[channel])) + m * unbiased);
}

template <class T>
__device__ Scaled<Compute<T>> scaled_by(const Channel<T>& memory, std::int64_t channel,
                                        Compute<T> mean, Compute<T> r) {
  using A = Compute<T>;
  return {mean, memory.scale != nullptr ? r * A(value(memory.scale[channel])) : r,
          memory.shift != nullptr ? A(value(memory.shift[channel])) : A(0)};
}

template <class T>
__device__ Scaled<Compute<T>> scaled_by_running(const Channel<T>& memory, std::int64_t channel) {
  using A = Compute<T>;
  const A r =
      rsqrt(A(value(memory.running_variance[channel])) + A(training_constants::batch_norm_epsilon));
  return scaled_by(memory, channel, A(value(memory.running_mean[channel])), r);
}

template <class T>
struct Gradients {
  const T *x, *dy, *scale;
  T *dx, *scale_gradient, *shift_gradient;
  const Compute<T>* statistics;
};

/// dx = factor (dy − mean of dy − (x − mean) slope)
template <class A>
struct Spread {
  A mean, factor, mean_dy, slope;
  __device__ A operator()(A dy, A x) const { return factor * (dy - mean_dy - (x - mean) * slope); }
};

template <class T>
__device__ Spread<Compute<T>> spread_of(const Gradients<T>& memory, std::int64_t channel,
                                        Pair<Compute<T>> sums, Compute<T> count) {
  using A = Compute<T>;
  const A r = memory.statistics[2 * channel + 1];
  return {memory.statistics[2 * channel],
          memory.scale != nullptr ? r * A(value(memory.scale[channel])) : r, sums.first / count,
          sums.second * r * r / count};  // (x − mean)·r·Σdy·x̂/count, x̂ = (x − mean)·r
}

template <class T>
__device__ void keep_gradients(const Gradients<T>& memory, std::int64_t channel,
                               Pair<Compute<T>> sums) {
  if (memory.shift_gradient != nullptr) memory.shift_gradient[channel] = stored<T>(sums.first);
  if (memory.scale_gradient != nullptr)
    memory.scale_gradient[channel] = stored<T>(sums.second * memory.statistics[2 * channel + 1]);
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

template <class T>
Gradients<T> gradients_of(const BatchNormMemory& memory) {
  return {static_cast<const T*>(memory.x),
          static_cast<const T*>(memory.dy),
          static_cast<const T*>(memory.scale),
          static_cast<T*>(memory.dx),
          static_cast<T*>(memory.scale_gradient),
          static_cast<T*>(memory.shift_gradient),
          static_cast<const Compute<T>*>(memory.statistics)};
}

/// Without space: a channel's numbers lie apart.
void batch_norm_of_rows(const ChannelArray& array, const BatchNormMemory& memory, bool by_running,
                        cudaStream_t stream);
void batch_norm_gradient_of_rows(const ChannelArray& array, const BatchNormMemory& memory,
                                 cudaStream_t stream);

}  // namespace strata::cuda::train
