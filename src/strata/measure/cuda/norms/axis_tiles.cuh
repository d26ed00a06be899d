// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/norms/row_registers.cuh"
#include "strata/measure/engine/constants.hpp"

/// Walks along an axis that is not the last, of an array [outer, length, inner]. For nvcc only.
///
/// A place is a piece of the inner axis; its column is what lies along the axis. A block takes
/// neighbouring places, threadIdx.x, so that a warp reads whole lines, and shares the columns among
/// threadIdx.y: thread y takes the numbers y, y + blockDim.y, …
namespace strata::cuda::train {

/// Numbers along the axis that a thread takes at a time.
template <class T, int width>
inline constexpr int axis_numbers = most_pieces<T, width>;

struct AxisTiles {
  std::int64_t places = 0;  ///< outer × stride
  int stride = 1;           ///< pieces of the inner axis
  int length = 1;
  unsigned across = 1, along = 1;  ///< threads of a block
  int numbers = 1;                 ///< of a thread at a time

  AxisTiles(std::int64_t outer, std::int64_t axis, std::int64_t pieces, int numbers_each)
      : places(outer * pieces),
        stride(static_cast<int>(pieces)),
        length(static_cast<int>(axis)),
        numbers(numbers_each) {
    // Eight places are a line of 128 bytes. Parts of a column that are in one warp fill it.
    constexpr unsigned narrowest = 8, most_along = 64;
    along = static_cast<unsigned>(
        std::min<std::int64_t>(parts_of(axis, numbers_each), std::int64_t{most_along}));
    across = narrowest;
    while (2 * across * along <= static_cast<unsigned>(threads_per_block)) across *= 2;
    if (across < warp_threads) {
      const unsigned in_warp = warp_threads / across;
      along = (along + in_warp - 1) / in_warp * in_warp;
    }
  }
  dim3 block() const { return dim3(across, along); }
  unsigned blocks() const { return blocks_for(places, static_cast<int>(across)); }
  /// Whether a thread's numbers are the whole of its part.
  bool is_one_go() const { return length <= numbers * static_cast<int>(along); }
  /// What is left of a column when the threads of each warp have joined theirs.
  STRATA_HOST_AND_DEVICE unsigned parts() const {
    return across < warp_threads ? across * along / warp_threads : along;
  }
  /// Numbers that over_axis shares.
  STRATA_HOST_AND_DEVICE unsigned shared(int width) const { return parts() * across * width; }
};

/// The column of a thread; empty beyond the last place.
template <class T, int width>
struct AxisColumn {
  using P = Items<T, width>;
  std::int64_t place, base;
  int stride, length;

  __device__ explicit AxisColumn(const AxisTiles& tiles)
      : place(std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x),
        stride(tiles.stride),
        length(place < tiles.places ? tiles.length : 0) {
    const std::int64_t outer = place / stride;
    base = outer * tiles.length * stride + (place - outer * stride);
  }
  /// Number k of the thread, of those from `first` on.
  __device__ static int number(int first, int k) {
    return first + static_cast<int>(k * blockDim.y + threadIdx.y);
  }
  __device__ bool has(int number) const { return number < length; }
  __device__ const P& of(const T* x, int number) const {
    return reinterpret_cast<const P*>(x)[base + std::int64_t{number} * stride];
  }
  __device__ P& of(T* x, int number) const {
    return reinterpret_cast<P*>(x)[base + std::int64_t{number} * stride];
  }
  template <int count>
  __device__ void read(P (&pieces)[count], const T* x, int first) const {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      pieces[k] = has(number(first, k)) ? of(x, number(first, k)) : P{};
    }
  }
};

/// Joins what the threads of each place have; all of them get the results. `shared` is the block's
/// for this call alone.
template <class A, int width, class Join>
__device__ void over_axis(const AxisTiles& tiles, A (&x)[width], Join join, A* shared) {
  const unsigned across = tiles.across, parts = tiles.parts();
#pragma unroll
  for (int j = 0; j < width; ++j) x[j] = over_lanes(x[j], join, across, warp_threads);
  if (parts == 1) return;
  const bool is_in_warp = across < warp_threads;
  const unsigned part = is_in_warp ? thread_of_block() / warp_threads : threadIdx.y;
  const unsigned lane = thread_of_block() % warp_threads;
  using Results = Items<A, width>;
  auto* const results = reinterpret_cast<Results*>(shared);
  if (!is_in_warp || lane < across) {
#pragma unroll
    for (int j = 0; j < width; ++j) results[part * across + threadIdx.x].item[j] = x[j];
  }
  __syncthreads();
  for (unsigned i = 0; i < parts; ++i) {
    const Results other = results[i * across + threadIdx.x];
#pragma unroll
    for (int j = 0; j < width; ++j) x[j] = i == 0 ? other.item[j] : join(x[j], other.item[j]);
  }
}

}  // namespace strata::cuda::train
