// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/index_map.cuh"
#include "strata/measure/cuda/sums/sum_layout.cuh"

#include <algorithm>

/// Pairs of sums over axes of an array, in two steps: threads leave partial sums, which are added
/// in a fixed order, so that results do not change from run to run. For nvcc only.
///
/// What is summed is a functor `Terms`: begin(row, channel) says where the thread is, add(a, b,
/// first, second) adds what two numbers there contribute. `Join` puts two partial results together
/// and knows what nothing is: AddedUp, or what takes the place of adding.
namespace strata::cuda::train {

struct AddedUp {
  template <class A>
  __device__ A nothing() const {
    return A(0);
  }
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};

/// Loads that a thread begins before it looks at any.
inline constexpr int loads_ahead = 4;

// --- how the work is shared ----------------------------------------------------------------------

/// Columns (inner is 1) are shared by 32 lanes and the rows among warps and blocks; rows (nothing
/// before the channel is summed, and there are many) by some lanes of a warp each; all else by
/// blocks for each channel.
enum class SumWay : std::uint8_t { columns, lanes, blocks };

inline SumWay sum_way(const SumLayout& layout) {
  constexpr std::int64_t enough_rows = 4096, most_of_a_row = 1 << 15;
  if (layout.inner == 1) return SumWay::columns;
  const bool is_rows = layout.rows == 1 && layout.inner <= most_of_a_row;
  return is_rows && layout.channels >= enough_rows ? SumWay::lanes : SumWay::blocks;
}

/// How many partial sums each result has: so many that the chip is full, and no more than are added
/// up quickly.
inline int sum_splits(const SumLayout& layout) {
  constexpr std::int64_t terms_each = 16;
  const auto shares = [](std::int64_t wanted, std::int64_t blocks, std::int64_t possible) {
    constexpr std::int64_t most = 512;
    return static_cast<int>(std::clamp(wanted / std::max<std::int64_t>(blocks, 1), std::int64_t{1},
                                       std::clamp(possible, std::int64_t{1}, std::int64_t{most})));
  };
  switch (sum_way(layout)) {
    case SumWay::columns:
      return shares(2048, layout.batches * ((layout.channels + 127) / 128),
                    layout.rows / terms_each);
    case SumWay::lanes: return 1;
    case SumWay::blocks:
      return shares(4096, layout.channels, layout.terms() / (terms_each * threads_per_block));
  }
  return 1;
}
/// Numbers that the partial sums need room for.
inline std::int64_t sum_partials(const SumLayout& layout) {
  return 2 * layout.results() * sum_splits(layout);
}

/// What of one channel a block takes, of [rows, channels, packs]: an equal part of all its packs.
struct ChannelParts {
  FastDivisor packs;  ///< of a plane
  std::uint32_t count;
  std::int64_t row_stride;

  ChannelParts(std::int64_t rows, std::int64_t channels, std::int64_t plane)
      : packs(static_cast<std::uint32_t>(plane)),
        count(static_cast<std::uint32_t>(rows * plane)),
        row_stride(channels * plane) {}

  __device__ std::uint32_t begin(unsigned part, unsigned parts) const {
    const std::uint32_t each = (count + parts - 1) / parts;
    const std::uint32_t at = part * each;
    return at < count ? at : count;
  }
  __device__ std::uint32_t row(std::uint32_t i) const { return packs.quotient(i); }
  __device__ std::int64_t place(std::int64_t channel, std::uint32_t i) const {
    const std::uint32_t r = row(i);
    return r * row_stride + channel * packs.divisor + (i - r * packs.divisor);
  }
};

// --- kernels -------------------------------------------------------------------------------------

/// Block (channel, split).
template <class T, int inputs, int width, class Terms, class Join>
__global__ void __launch_bounds__(threads_per_block)
    sum_channels(const T* a, const T* b, ChannelParts parts, Compute<T>* partials, Terms terms,
                 Join join) {
  using A = Compute<T>;
  using N = Items<T, width>;
  const std::int64_t channel = blockIdx.x;
  const std::uint32_t end = parts.begin(blockIdx.y + 1, gridDim.y);
  A first = join.template nothing<A>(), second = first;
  for (std::uint32_t i = parts.begin(blockIdx.y, gridDim.y) + threadIdx.x; i < end;
       i += loads_ahead * threads_per_block) {
    N na[loads_ahead], nb[loads_ahead];
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      const std::uint32_t at = i + k * threads_per_block;
      if (at >= end) continue;
      const std::int64_t place = parts.place(channel, at);
      na[k] = reinterpret_cast<const N*>(a)[place];
      if constexpr (inputs > 1) nb[k] = reinterpret_cast<const N*>(b)[place];
    }
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      const std::uint32_t at = i + k * threads_per_block;
      if (at >= end) continue;
      terms.begin(parts.row(at), channel);
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const A v = value(na[k].item[j]);
        terms.add(v, inputs > 1 ? A(value(nb[k].item[j])) : v, first, second);
      }
    }
  }
  first = over_block(first, join, join.template nothing<A>());
  second = over_block(second, join, join.template nothing<A>());
  if (threadIdx.x == 0) {
    A* const to = partials + 2 * (channel * gridDim.y + blockIdx.y);
    to[0] = first;
    to[1] = second;
  }
}

/// Rows [channels, packs]: so many neighbouring lanes of a warp take one.
template <class T, int inputs, int width, class Terms, class Join>
__global__ void __launch_bounds__(threads_per_block)
    sum_rows(const T* a, const T* b, std::int64_t channels, std::int64_t packs, unsigned lanes,
             Compute<T>* partials, Terms terms, Join join) {
  using A = Compute<T>;
  using N = Items<T, width>;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t channel = thread / lanes;
  const bool is_there = channel < channels;
  A first = join.template nothing<A>(), second = first;
  if (is_there) terms.begin(0, channel);
  for (std::int64_t i = thread % lanes; i < packs && is_there; i += loads_ahead * lanes) {
    N na[loads_ahead], nb[loads_ahead];
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      const std::int64_t at = i + k * lanes;
      if (at >= packs) continue;
      na[k] = reinterpret_cast<const N*>(a)[channel * packs + at];
      if constexpr (inputs > 1) nb[k] = reinterpret_cast<const N*>(b)[channel * packs + at];
    }
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      if (i + k * lanes >= packs) continue;
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const A v = value(na[k].item[j]);
        terms.add(v, inputs > 1 ? A(value(nb[k].item[j])) : v, first, second);
      }
    }
  }
  for (unsigned step = lanes / 2; step > 0; step /= 2) {
    first = join(first, __shfl_xor_sync(~0u, first, step));
    second = join(second, __shfl_xor_sync(~0u, second, step));
  }
  if (is_there && thread % lanes == 0) {
    partials[2 * channel] = first;
    partials[2 * channel + 1] = second;
  }
}

/// Block (32 lanes' columns of a batch, split of the rows).
template <class T, int inputs, int width, class Terms, class Join>
__global__ void __launch_bounds__(threads_per_block)
    sum_columns(const T* a, const T* b, std::int64_t rows, std::int64_t columns,
                Compute<T>* partials, Terms terms, Join join) {
  using A = Compute<T>;
  using N = Items<T, width>;
  constexpr int row_threads = threads_per_block / 32, block_columns = 32 * width;
  __shared__ A shared[2][row_threads][block_columns];
  const auto blocks = static_cast<unsigned>((columns + block_columns - 1) / block_columns);
  const std::int64_t batch = blockIdx.x / blocks;
  const std::int64_t block_column = std::int64_t{blockIdx.x % blocks} * block_columns;
  const unsigned x = threadIdx.x % 32, y = threadIdx.x / 32;
  const std::int64_t column = block_column + x * width;
  const std::int64_t step = std::int64_t{gridDim.y} * row_threads;
  A first[width], second[width];
#pragma unroll
  for (int j = 0; j < width; ++j) first[j] = second[j] = join.template nothing<A>();
  for (std::int64_t row = blockIdx.y * row_threads + y; row < rows && column < columns;
       row += loads_ahead * step) {
    N na[loads_ahead], nb[loads_ahead];
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      if (row + k * step >= rows) continue;
      const std::int64_t place = ((batch * rows + row + k * step) * columns + column) / width;
      na[k] = reinterpret_cast<const N*>(a)[place];
      if constexpr (inputs > 1) nb[k] = reinterpret_cast<const N*>(b)[place];
    }
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      if (row + k * step >= rows) continue;
#pragma unroll
      for (int j = 0; j < width; ++j) {
        terms.begin(row + k * step, column + j);
        const A v = value(na[k].item[j]);
        terms.add(v, inputs > 1 ? A(value(nb[k].item[j])) : v, first[j], second[j]);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < width; ++j) {
    shared[0][y][j * 32 + x] = first[j];
    shared[1][y][j * 32 + x] = second[j];
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 2 * block_columns; i += threads_per_block) {
    const unsigned which = i / block_columns, at = i % block_columns;
    const std::int64_t mine = block_column + at % 32 * width + at / 32;
    if (mine >= columns) continue;
    A sum = shared[which][0][at];
    for (int r = 1; r < row_threads; ++r) sum = join(sum, shared[which][r][at]);
    partials[2 * ((batch * columns + mine) * gridDim.y + blockIdx.y) + which] = sum;
  }
}

/// Puts the partial results of each channel together: `lanes` of a warp for each. Calls
/// finish(channel, first, second).
template <class A, class Join, class Finish>
__global__ void __launch_bounds__(threads_per_block)
    finish_partials(const A* partials, std::int64_t results, int splits, unsigned lanes, Join join,
                    Finish finish) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t result = thread / lanes;
  A first = join.template nothing<A>(), second = first;
  if (result < results) {
#pragma unroll 4
    for (auto i = static_cast<int>(thread % lanes); i < splits; i += static_cast<int>(lanes)) {
      first = join(first, partials[2 * (result * splits + i)]);
      second = join(second, partials[2 * (result * splits + i) + 1]);
    }
  }
  for (unsigned step = lanes / 2; step > 0; step /= 2) {
    first = join(first, __shfl_xor_sync(~0u, first, step));
    second = join(second, __shfl_xor_sync(~0u, second, step));
  }
  if (result < results && thread % lanes == 0) finish(result, first, second);
}

// --- launches ------------------------------------------------------------------------------------

/// The least power of two that is not below `items`, at most a warp.
inline unsigned lanes_for(std::int64_t items) {
  unsigned lanes = 1;
  while (lanes < items && lanes < 32) lanes *= 2;
  return lanes;
}

/// Leaves sum_partials(layout) numbers in `partials`.
template <class T, int inputs, class Terms, class Join = AddedUp>
void launch_sums(const SumLayout& layout, const T* a, const T* b, Compute<T>* partials, Terms terms,
                 cudaStream_t stream, Join join = {}) {
  const SumWay way = sum_way(layout);
  const auto splits = static_cast<unsigned>(sum_splits(layout));
  const auto launch = [&](auto numbers) {
    constexpr int width = numbers.value;
    if (way == SumWay::columns) {
      const unsigned blocks = blocks_for(layout.channels, 32 * width);
      sum_columns<T, inputs, width>
          <<<dim3(static_cast<unsigned>(layout.batches) * blocks, splits), threads_per_block, 0,
             stream>>>(a, b, layout.rows, layout.channels, partials, terms, join);
    } else if (way == SumWay::lanes) {
      const std::int64_t packs = layout.inner / width;
      const unsigned lanes = lanes_for(packs);
      sum_rows<T, inputs, width>
          <<<blocks_for(layout.channels * lanes), threads_per_block, 0, stream>>>(
              a, b, layout.channels, packs, lanes, partials, terms, join);
    } else {
      sum_channels<T, inputs, width>
          <<<dim3(static_cast<unsigned>(layout.channels), splits), threads_per_block, 0, stream>>>(
              a, b, ChannelParts(layout.rows, layout.channels, layout.inner / width), partials,
              terms, join);
    }
  };
  constexpr int whole = Pack<T>::size;
  const std::int64_t run = way == SumWay::columns ? layout.channels : layout.inner;
  if (run % whole == 0 && is_aligned(a) && (inputs < 2 || is_aligned(b))) {
    launch(std::integral_constant<int, whole>{});
  } else {
    launch(std::integral_constant<int, 1>{});
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

template <class A, class Finish, class Join = AddedUp>
void launch_finish(const SumLayout& layout, const A* partials, Finish finish, cudaStream_t stream,
                   Join join = {}) {
  constexpr int few = 4;  // that a thread adds alone
  const int splits = sum_splits(layout);
  const unsigned lanes = splits <= few ? 1 : lanes_for(splits);
  finish_partials<<<blocks_for(layout.results() * lanes), threads_per_block, 0, stream>>>(
      partials, layout.results(), splits, lanes, join, finish);
  STRATA_CUDA_CALL(cudaGetLastError());
}

/// Stores both sums, times `factor`; either may be null.
template <class T>
struct StoredSums {
  T* first;
  T* second;
  Compute<T> factor = 1;
  __device__ void operator()(std::int64_t result, Compute<T> a, Compute<T> b) const {
    if (first != nullptr) first[result] = stored<T>(a * factor);
    if (second != nullptr) second[result] = stored<T>(b * factor);
  }
};

}  // namespace strata::cuda::train
