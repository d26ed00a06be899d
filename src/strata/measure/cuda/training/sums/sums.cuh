// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/training/element.cuh"

#include <algorithm>

/// Pairs of sums over everything but one axis, in two steps: blocks leave partial sums, which are
/// added in a fixed order, so that results do not change from run to run. For nvcc only.
///
/// What is summed is a functor `Terms`: begin(row, channel) says where the thread is, add(a, b,
/// first, second) adds what two numbers there contribute.
namespace strata::cuda::train {

/// How many blocks share a channel of [rows, channels, inner]: so many that the chip is full.
inline int channel_splits(std::int64_t rows, std::int64_t channels) {
  constexpr std::int64_t enough_blocks = 1536;
  return static_cast<int>(std::clamp<std::int64_t>(
      enough_blocks / std::max<std::int64_t>(channels, 1), 1, std::min<std::int64_t>(rows, 64)));
}
/// The same for columns of [rows, columns].
inline int column_splits(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t enough_blocks = 1024;
  const std::int64_t blocks = (columns + 31) / 32;
  return static_cast<int>(
      std::clamp<std::int64_t>(enough_blocks / blocks, 1, std::max<std::int64_t>(rows / 16, 1)));
}
/// Numbers that `partials` must have room for.
inline std::int64_t channel_partials(std::int64_t rows, std::int64_t channels) {
  return 2 * channels * channel_splits(rows, channels);
}
inline std::int64_t column_partials(std::int64_t rows, std::int64_t columns) {
  return 2 * columns * column_splits(rows, columns);
}

/// Threads along the inner axis; the others take further rows.
inline unsigned inner_threads(std::int64_t packs) {
  unsigned threads = 32;
  while (threads < packs && threads < static_cast<unsigned>(threads_per_block)) threads *= 2;
  return threads;
}

/// Block (channel, split); its threads are a plane of inner × rows.
template <class T, int inputs, int width, class Terms>
__global__ void __launch_bounds__(threads_per_block)
    sum_channels(const T* a, const T* b, std::int64_t rows, std::int64_t inner,
                 unsigned along_inner, Compute<T>* partials, Terms terms) {
  using A = Compute<T>;
  struct alignas(width * sizeof(T)) Numbers {
    T item[width];
  };
  const std::int64_t channel = blockIdx.x, channels = gridDim.x;
  const unsigned x = threadIdx.x % along_inner, y = threadIdx.x / along_inner;
  const unsigned row_threads = blockDim.x / along_inner;
  A first = 0, second = 0;
  const std::int64_t packs = inner / width;
  for (std::int64_t row = blockIdx.y * row_threads + y; row < rows;
       row += std::int64_t{gridDim.y} * row_threads) {
    const std::int64_t plane = (row * channels + channel) * packs;
    terms.begin(row, channel);
    for (std::int64_t i = x; i < packs; i += along_inner) {
      const Numbers na = reinterpret_cast<const Numbers*>(a)[plane + i];
      Numbers nb = na;
      if constexpr (inputs > 1) nb = reinterpret_cast<const Numbers*>(b)[plane + i];
#pragma unroll
      for (int k = 0; k < width; ++k)
        terms.add(A(value(na.item[k])), A(value(nb.item[k])), first, second);
    }
  }
  first = sum_over_block(first);
  second = sum_over_block(second);
  if (threadIdx.x == 0) {
    A* const to = partials + 2 * (channel * gridDim.y + blockIdx.y);
    to[0] = first;
    to[1] = second;
  }
}

template <class T, int inputs, class Terms>
void launch_channel_sums(const T* a, const T* b, std::int64_t rows, std::int64_t channels,
                         std::int64_t inner, Compute<T>* partials, Terms terms,
                         cudaStream_t stream) {
  constexpr int width = Pack<T>::size;
  const dim3 grid(static_cast<unsigned>(channels),
                  static_cast<unsigned>(channel_splits(rows, channels)));
  const bool is_packed = inner % width == 0 && is_aligned(a) && (inputs < 2 || is_aligned(b));
  if (is_packed) {
    sum_channels<T, inputs, width><<<grid, threads_per_block, 0, stream>>>(
        a, b, rows, inner, inner_threads(inner / width), partials, terms);
  } else {
    sum_channels<T, inputs, 1><<<grid, threads_per_block, 0, stream>>>(
        a, b, rows, inner, inner_threads(inner), partials, terms);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

/// Block (32 columns, split of the rows).
template <class T, int inputs, class Terms>
__global__ void __launch_bounds__(threads_per_block)
    sum_columns(const T* a, const T* b, std::int64_t rows, std::int64_t columns,
                Compute<T>* partials, Terms terms) {
  using A = Compute<T>;
  constexpr int row_threads = threads_per_block / 32;
  __shared__ A shared[2][row_threads][33];
  const unsigned x = threadIdx.x % 32, y = threadIdx.x / 32;
  const std::int64_t column = std::int64_t{blockIdx.x} * 32 + x;
  A first = 0, second = 0;
  if (column < columns) {
    for (std::int64_t row = std::int64_t{blockIdx.y} * row_threads + y; row < rows;
         row += std::int64_t{gridDim.y} * row_threads) {
      terms.begin(row, column);
      const A va = value(a[row * columns + column]);
      terms.add(va, inputs > 1 ? A(value(b[row * columns + column])) : va, first, second);
    }
  }
  shared[0][y][x] = first;
  shared[1][y][x] = second;
  __syncthreads();
  if (y != 0 || column >= columns) return;
  for (int i = 1; i < row_threads; ++i) {
    first += shared[0][i][x];
    second += shared[1][i][x];
  }
  A* const to = partials + 2 * (column * gridDim.y + blockIdx.y);
  to[0] = first;
  to[1] = second;
}

template <class T, int inputs, class Terms>
void launch_column_sums(const T* a, const T* b, std::int64_t rows, std::int64_t columns,
                        Compute<T>* partials, Terms terms, cudaStream_t stream) {
  sum_columns<T, inputs>
      <<<dim3(blocks_for(columns, 32), static_cast<unsigned>(column_splits(rows, columns))),
         threads_per_block, 0, stream>>>(a, b, rows, columns, partials, terms);
  STRATA_CUDA_CALL(cudaGetLastError());
}

/// Adds the partial sums; either result may be null.
template <class T>
__global__ void finish_sums(T* first, T* second, const Compute<T>* partials, std::int64_t channels,
                            int splits) {
  const std::int64_t channel = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  Compute<T> a = 0, b = 0;
  for (int i = 0; i < splits; ++i) {
    a += partials[2 * (channel * splits + i)];
    b += partials[2 * (channel * splits + i) + 1];
  }
  if (first != nullptr) first[channel] = stored<T>(a);
  if (second != nullptr) second[channel] = stored<T>(b);
}

template <class T>
void launch_finish_sums(T* first, T* second, const Compute<T>* partials, std::int64_t channels,
                        int splits, cudaStream_t stream) {
  finish_sums<<<blocks_for(channels, 128), 128, 0, stream>>>(first, second, partials, channels,
                                                             splits);
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
