// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/training/index_map.cuh"
#include "strata/measure/cuda/training/norms/normalization.cuh"
#include "strata/measure/cuda/training/sums/sums.cuh"
#include "strata/measure/training/constants.hpp"

namespace strata::cuda::train {
namespace {

/// A block takes a row; it reads it again from the cache where it needs it again.
template <class T>
__global__ void normalize_rows(RowNorm norm, FastDivisor inner, const T* x, T* y, const T* scale,
                               const T* shift, Compute<T>* statistics) {
  using A = Compute<T>;
  const std::int64_t row = blockIdx.x, length = norm.length;
  const T* const in = x + row * length;
  A mean = 0;
  if (norm.takes_mean) {
    for (std::int64_t j = threadIdx.x; j < length; j += blockDim.x) mean += value(in[j]);
    mean = sum_over_block(mean) / A(length);
  }
  A squares = 0;
  for (std::int64_t j = threadIdx.x; j < length; j += blockDim.x) {
    const A d = A(value(in[j])) - mean;
    squares += d * d;
  }
  const A r = rsqrt(sum_over_block(squares) / A(length) + A(norm.epsilon));
  if (threadIdx.x == 0 && statistics != nullptr) {
    statistics[2 * row] = mean;
    statistics[2 * row + 1] = r;
  }
  const std::int64_t first = row % norm.groups * (length / norm.inner);
  for (std::int64_t j = threadIdx.x; j < length; j += blockDim.x) {
    const std::int64_t entry = first + inner.quotient(static_cast<std::uint32_t>(j));
    A v = (A(value(in[j])) - mean) * r;
    if (scale != nullptr) v *= A(value(scale[entry]));
    if (shift != nullptr) v += A(value(shift[entry]));
    y[row * length + j] = stored<T>(v);
  }
}

template <class T>
__global__ void row_gradient(RowNorm norm, FastDivisor inner, T* dx, const T* dy, const T* x,
                             const T* scale, const Compute<T>* statistics) {
  using A = Compute<T>;
  const std::int64_t row = blockIdx.x, length = norm.length;
  const A mean = statistics[2 * row], r = statistics[2 * row + 1];
  const std::int64_t first = row % norm.groups * (length / norm.inner);
  const auto scaled = [&](std::int64_t j) {
    const A d = value(dy[row * length + j]);
    if (scale == nullptr) return d;
    return d * A(value(scale[first + inner.quotient(static_cast<std::uint32_t>(j))]));
  };
  const auto normalized = [&](std::int64_t j) {
    return (A(value(x[row * length + j])) - mean) * r;
  };
  A sum = 0, product = 0;
  for (std::int64_t j = threadIdx.x; j < length; j += blockDim.x) {
    const A d = scaled(j);
    sum += d;
    product += d * normalized(j);
  }
  sum = norm.takes_mean ? sum_over_block(sum) / A(length) : A(0);
  product = sum_over_block(product) / A(length);
  for (std::int64_t j = threadIdx.x; j < length; j += blockDim.x)
    dx[row * length + j] = stored<T>(r * (scaled(j) - sum - normalized(j) * product));
}

/// dscale and dshift. Columns: every row has its own statistics. Channels: every group of every
/// sample has.
template <class T>
struct WeightSums {
  using A = Compute<T>;
  const A* statistics;
  std::int64_t groups, entries_per_group;
  A mean, r;
  __device__ void begin(std::int64_t sample, std::int64_t entry) {
    const std::int64_t row = groups == 1 ? sample : sample * groups + entry / entries_per_group;
    mean = statistics[2 * row];
    r = statistics[2 * row + 1];
  }
  __device__ void add(A dy, A x, A& first, A& second) const {
    first += dy * (x - mean) * r;
    second += dy;
  }
};

template <class T>
__global__ void local_response(ChannelArray array, FastDivisor inner, FastDivisor channels,
                               int size, T* y, T* scale, const T* x) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= array.count()) return;
  const std::uint32_t plane = inner.quotient(static_cast<std::uint32_t>(i));
  const auto channel = static_cast<int>(plane - channels.quotient(plane) * channels.divisor);
  A sum = 0;
  for (int j = 0; j < size; ++j) {
    const int neighbour = channel + j - size / 2;
    if (neighbour < 0 || neighbour >= array.channels) continue;
    const A v = value(x[i + (neighbour - channel) * array.inner]);
    sum += v * v;
  }
  const A t = A(training_constants::local_response_k) +
              A(training_constants::local_response_alpha) / A(size) * sum;
  scale[i] = stored<T>(t);
  y[i] = stored<T>(A(value(x[i])) * pow(t, -A(training_constants::local_response_beta)));
}

template <class T>
__global__ void local_response_gradient(ChannelArray array, FastDivisor inner, FastDivisor channels,
                                        int size, T* dx, const T* dy, const T* x, const T* y,
                                        const T* scale) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= array.count()) return;
  const std::uint32_t plane = inner.quotient(static_cast<std::uint32_t>(i));
  const auto channel = static_cast<int>(plane - channels.quotient(plane) * channels.divisor);
  A sum = 0;
  for (int j = 0; j < size; ++j) {
    // The windows that hold this channel, mirrored.
    const int neighbour = channel - j + size / 2;
    if (neighbour < 0 || neighbour >= array.channels) continue;
    const std::int64_t at = i + (neighbour - channel) * array.inner;
    sum += A(value(dy[at])) * A(value(y[at])) / A(value(scale[at]));
  }
  constexpr double beta = training_constants::local_response_beta;
  const A factor = A(2 * training_constants::local_response_alpha * beta) / A(size);
  dx[i] = stored<T>(A(value(dy[i])) * pow(A(value(scale[i])), A(-beta)) -
                    factor * A(value(x[i])) * sum);
}

// A row of some hundred numbers keeps no more than a few warps busy.
int threads_for(std::int64_t length) {
  int threads = 32;
  while (threads < length / 4 && threads < 512) threads *= 2;
  return threads;
}

}  // namespace

void row_norm(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    normalize_rows<<<static_cast<unsigned>(norm.rows), threads_for(norm.length), 0, stream>>>(
        norm, FastDivisor(static_cast<std::uint32_t>(norm.inner)), static_cast<const T*>(memory.x),
        static_cast<T*>(memory.y), static_cast<const T*>(memory.scale),
        static_cast<const T*>(memory.shift), static_cast<Compute<T>*>(memory.statistics));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void row_norm_gradient(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    row_gradient<<<static_cast<unsigned>(norm.rows), threads_for(norm.length), 0, stream>>>(
        norm, FastDivisor(static_cast<std::uint32_t>(norm.inner)), static_cast<T*>(memory.dx),
        static_cast<const T*>(memory.dy), static_cast<const T*>(memory.x),
        static_cast<const T*>(memory.scale), static_cast<const Compute<T>*>(memory.statistics));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t row_norm_scratch(const RowNorm& norm) {
  const std::int64_t samples = norm.rows / norm.groups;
  return norm.inner == 1 ? column_partials(samples, norm.entries())
                         : channel_partials(samples, norm.entries());
}

void row_norm_weight_gradient(const RowNorm& norm, const RowNormMemory& memory,
                              cudaStream_t stream) {
  const std::int64_t samples = norm.rows / norm.groups, entries = norm.entries();
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const partials = static_cast<Compute<T>*>(memory.scratch);
    const WeightSums<T> terms{static_cast<const Compute<T>*>(memory.statistics), norm.groups,
                              norm.length / norm.inner, 0, 0};
    const auto* const dy = static_cast<const T*>(memory.dy);
    const auto* const x = static_cast<const T*>(memory.x);
    int splits = 0;
    if (norm.inner == 1) {
      launch_column_sums<T, 2>(dy, x, samples, entries, partials, terms, stream);
      splits = column_splits(samples, entries);
    } else {
      launch_channel_sums<T, 2>(dy, x, samples, entries, norm.inner, partials, terms, stream);
      splits = channel_splits(samples, entries);
    }
    launch_finish_sums<T>(static_cast<T*>(memory.scale_gradient),
                          static_cast<T*>(memory.shift_gradient), partials, entries, splits,
                          stream);
  });
}

void local_response_norm(const ChannelArray& array, std::int64_t size, void* y, void* scale,
                         const void* x, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    local_response<<<blocks_for(array.count()), threads_per_block, 0, stream>>>(
        array, FastDivisor(static_cast<std::uint32_t>(array.inner)),
        FastDivisor(static_cast<std::uint32_t>(array.channels)), static_cast<int>(size),
        static_cast<T*>(y), static_cast<T*>(scale), static_cast<const T*>(x));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void local_response_norm_gradient(const ChannelArray& array, std::int64_t size, void* dx,
                                  const void* dy, const void* x, const void* y, const void* scale,
                                  cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    local_response_gradient<<<blocks_for(array.count()), threads_per_block, 0, stream>>>(
        array, FastDivisor(static_cast<std::uint32_t>(array.inner)),
        FastDivisor(static_cast<std::uint32_t>(array.channels)), static_cast<int>(size),
        static_cast<T*>(dx), static_cast<const T*>(dy), static_cast<const T*>(x),
        static_cast<const T*>(y), static_cast<const T*>(scale));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
