// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/pooling/small_window_tiles.cuh"

#include <cmath>

namespace strata::cuda::train {
namespace {

/// A thread's results: those below each other share rows, those beside each other columns.
template <class W>
struct ResultTile {
  static constexpr int rows = W::stride == 1 ? W::rows : 2;
  static constexpr int columns = W::columns;
  static constexpr int rows_read = (rows - 1) * W::stride + W::size;
  static constexpr int columns_read = (columns - 1) * W::stride + W::size;
};

/// A number, and where in its window it is.
template <class A>
struct Noted {
  A number;
  int note;
};

/// The sum of numbers, or the first of the largest. What lies outside a plane is not a number: it
/// is larger than nothing and equals nothing.
template <bool is_maximum, class A, int count>
__device__ Noted<A> joined(const Noted<A> (&parts)[count]) {
  Noted<A> result = parts[0];
  if constexpr (is_maximum) {
#pragma unroll
    for (int i = 1; i < count; ++i) result.number = fmax(result.number, parts[i].number);
    result.note = parts[count - 1].note;
#pragma unroll
    for (int i = count - 2; i >= 0; --i) {
      if (parts[i].number == result.number) result.note = parts[i].note;
    }
  } else {
#pragma unroll
    for (int i = 1; i < count; ++i) result.number += parts[i].number;
  }
  return result;
}

template <class T, class W, bool is_maximum>
__global__ void __launch_bounds__(threads_per_block)
    pool_windows(Tiles tiles, WindowExtents extents, T* y, std::uint8_t* notes, const T* x) {
  using A = Compute<T>;
  using Tile = ResultTile<W>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= tiles.count) return;
  const Tiles::Place place = tiles.place(n);
  const int out_row = place.row * Tile::rows, out_column = place.column * Tile::columns;
  const int top = out_row * W::stride - extents.pad_y;
  const int left = out_column * W::stride - extents.pad_x;
  const T* const plane = x + place.plane * extents.in_height * extents.in_width;
  // Everything is asked for before anything is looked at.
  A numbers[Tile::rows_read][Tile::columns_read];
#pragma unroll
  for (int r = 0; r < Tile::rows_read; ++r) {
    const bool is_row = static_cast<unsigned>(top + r) < unsigned(extents.in_height);
    read_row<W::is_wide>(numbers[r], plane + (top + r) * extents.in_width, left, extents.in_width,
                         is_row, stored<T>(is_maximum ? A(NAN) : A(0)));
  }
  // A row's own result serves every window that holds the row.
  Noted<A> of_rows[Tile::rows_read][Tile::columns];
#pragma unroll
  for (int r = 0; r < Tile::rows_read; ++r) {
#pragma unroll
    for (int c = 0; c < Tile::columns; ++c) {
      Noted<A> parts[W::size];
#pragma unroll
      for (int i = 0; i < W::size; ++i) parts[i] = {numbers[r][c * W::stride + i], i};
      of_rows[r][c] = joined<is_maximum>(parts);
    }
  }
  A shares[Tile::columns];
#pragma unroll
  for (int c = 0; c < Tile::columns; ++c) {
    shares[c] =
        share_of<A, W::size>(extents.counts_padding, left + c * W::stride, extents.in_width);
  }
  const std::uint32_t to =
      (place.plane * extents.out_height + out_row) * extents.out_width + out_column;
#pragma unroll
  for (int o = 0; o < Tile::rows; ++o) {
    if (out_row + o >= extents.out_height) return;
    const A share =
        share_of<A, W::size>(extents.counts_padding, top + o * W::stride, extents.in_height);
    Items<T, Tile::columns> results;
    Items<std::uint8_t, Tile::columns> places;
#pragma unroll
    for (int c = 0; c < Tile::columns; ++c) {
      Noted<A> parts[W::size];
#pragma unroll
      for (int i = 0; i < W::size; ++i) {
        const Noted<A>& row = of_rows[o * W::stride + i][c];
        parts[i] = {row.number, note_of(i, row.note)};
      }
      const Noted<A> window = joined<is_maximum>(parts);
      results.item[c] = stored<T>(is_maximum ? window.number : window.number * share * shares[c]);
      places.item[c] = static_cast<std::uint8_t>(window.note);
    }
    const std::uint32_t at = to + o * extents.out_width;
    *reinterpret_cast<Items<T, Tile::columns>*>(y + at) = results;
    if (is_maximum && notes != nullptr)
      *reinterpret_cast<Items<std::uint8_t, Tile::columns>*>(notes + at) = places;
  }
}

}  // namespace

bool is_small_window(const PoolRun& run) {
  if (run.is_adaptive || run.in[0] != 1 || run.out[0] != 1 || run.kernel[0] != 1 || run.pad[0] != 0)
    return false;
  const int size = run.kernel[2], stride = run.stride[2];
  const bool is_known = (size == 2 && stride == 2) || (size == 3 && (stride == 1 || stride == 2));
  for (int axis = 1; axis < 3; ++axis) {
    if (run.kernel[axis] != size || run.stride[axis] != stride || run.dilation[axis] != 1)
      return false;
    // A window that is all padding has no maximum, and 2×2 after an odd padding has two windows
    // over a tile.
    const int last = (run.out[axis] - 1) * stride - run.pad[axis];
    if (run.pad[axis] >= size || last >= run.in[axis] || (size == 2 && run.pad[axis] != 0))
      return false;
  }
  // Gradients are compiled for where windows begin, the same along both axes.
  return is_known && (run.pad[1] - run.pad[2]) % stride == 0;
}

void pool_small_windows(const PoolRun& run, void* y, std::uint8_t* notes, const void* x,
                        cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    with_window<T>(run, x, y, notes, [&](auto window) {
      with_flag(run.kind == PoolKind::maximum, [&](auto is_maximum) {
        using W = decltype(window);
        using Tile = ResultTile<W>;
        const Tiles tiles(run.planes, run.out[1], run.out[2], Tile::rows, Tile::columns);
        pool_windows<T, W, is_maximum.value>
            <<<blocks_for(tiles.count), threads_per_block, 0, stream>>>(
                tiles, WindowExtents(run), static_cast<T*>(y), notes, static_cast<const T*>(x));
      });
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
