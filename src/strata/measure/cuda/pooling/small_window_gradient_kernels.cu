// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/pooling/small_window_tiles.cuh"

namespace strata::cuda::train {
namespace {

/// A thread's gradients, which begin with a multiple of the stride along each axis, and the windows
/// that may hold them. The tile begins with place `first_place` of the first of its windows: known
/// when compiling, so that only places that a window can have are compared.
template <class Of, int first_place>
struct GradientTile {
  using Window = Of;
  static constexpr int rows = Window::stride == 1 ? Window::rows : 4;
  static constexpr int columns = Window::stride == 1 ? Window::columns : Window::stride;
  static constexpr int windows_y = (rows - 1 + first_place) / Window::stride + 1;
  static constexpr int windows_x = (columns - 1 + first_place) / Window::stride + 1;

  /// Which place of a window a gradient is, along one axis; the window may not have it.
  __host__ __device__ static constexpr int place(int window, int at) {
    return first_place + at - window * Window::stride;
  }
  __device__ static constexpr bool holds(int window, int at) {
    return place(window, at) >= 0 && place(window, at) < Window::size;
  }
};

/// The windows over a tile: those from `row` and `column` on, which may lie outside.
struct WindowPlace {
  int row, column;
};

/// What row `a` of the windows has in an array of results.
template <class Tile, class A, class T>
__device__ void read_windows(A (&numbers)[Tile::windows_x], const T* plane,
                             const WindowExtents& extents, WindowPlace first, int a, T outside) {
  const int row = first.row + a;
  const bool is_row = static_cast<unsigned>(row) < unsigned(extents.out_height);
  read_row<Tile::Window::is_wide>(numbers, plane + row * extents.out_width, first.column,
                                  extents.out_width, is_row, outside);
}

/// Row by row: with the notes, all rows at once would take so many registers that few threads run.
template <class Tile, class A, class T>
__device__ void add_maxima(A (&sums)[Tile::rows][Tile::columns], const T* dy,
                           const std::uint8_t* notes, const WindowExtents& extents,
                           WindowPlace first) {
#pragma unroll
  for (int a = 0; a < Tile::windows_y; ++a) {
    A gradients[Tile::windows_x];
    int places[Tile::windows_x];
    read_windows<Tile>(gradients, dy, extents, first, a, stored<T>(A(0)));
    read_windows<Tile>(places, notes, extents, first, a, std::uint8_t{0xFF});
#pragma unroll
    for (int b = 0; b < Tile::windows_x; ++b) {
#pragma unroll
      for (int i = 0; i < Tile::rows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::columns; ++j) {
          if (Tile::holds(a, i) && Tile::holds(b, j) &&
              places[b] == note_of(Tile::place(a, i), Tile::place(b, j)))
            sums[i][j] += gradients[b];
        }
      }
    }
  }
}

/// The windows of a row that hold a column are added up once for all rows of the tile.
template <class Tile, class A, class T>
__device__ void add_averages(A (&sums)[Tile::rows][Tile::columns], const T* dy,
                             const WindowExtents& extents, WindowPlace first) {
  using W = typename Tile::Window;
  // Everything is asked for before anything is looked at.
  A gradients[Tile::windows_y][Tile::windows_x], shares[Tile::windows_x];
#pragma unroll
  for (int a = 0; a < Tile::windows_y; ++a)
    read_windows<Tile>(gradients[a], dy, extents, first, a, stored<T>(A(0)));
#pragma unroll
  for (int b = 0; b < Tile::windows_x; ++b) {
    const int left = (first.column + b) * W::stride - extents.pad_x;
    shares[b] = share_of<A, W::size>(extents.counts_padding, left, extents.in_width);
  }
#pragma unroll
  for (int a = 0; a < Tile::windows_y; ++a) {
    const int top = (first.row + a) * W::stride - extents.pad_y;
    const A share = share_of<A, W::size>(extents.counts_padding, top, extents.in_height);
#pragma unroll
    for (int j = 0; j < Tile::columns; ++j) {
      A of_row = 0;
#pragma unroll
      for (int b = 0; b < Tile::windows_x; ++b) {
        if (Tile::holds(b, j)) of_row += gradients[a][b] * shares[b];
      }
#pragma unroll
      for (int i = 0; i < Tile::rows; ++i) {
        if (Tile::holds(a, i)) sums[i][j] += of_row * share;
      }
    }
  }
}

/// `first`: of a tile at 0. is_whole: rows of a tile are one item each, none of which is cut.
template <class T, class Tile, bool is_maximum>
__global__ void __launch_bounds__(threads_per_block)
    gather_from_windows(Tiles tiles, WindowExtents extents, WindowPlace first, bool is_whole, T* dx,
                        const T* dy, const std::uint8_t* notes) {
  using A = Compute<T>;
  constexpr int stride = Tile::Window::stride;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= tiles.count) return;
  const Tiles::Place place = tiles.place(n);
  const int row = place.row * Tile::rows, column = place.column * Tile::columns;
  const WindowPlace over{row / stride + first.row, column / stride + first.column};
  const std::uint32_t plane = place.plane * extents.out_height * extents.out_width;
  A sums[Tile::rows][Tile::columns] = {};
  if constexpr (is_maximum) {
    add_maxima<Tile>(sums, dy + plane, notes + plane, extents, over);
  } else {
    add_averages<Tile>(sums, dy + plane, extents, over);
  }
  T* const to = dx + (place.plane * extents.in_height + row) * extents.in_width + column;
#pragma unroll
  for (int i = 0; i < Tile::rows; ++i) {
    if (row + i >= extents.in_height) return;
    Items<T, Tile::columns> line;
#pragma unroll
    for (int j = 0; j < Tile::columns; ++j) line.item[j] = stored<T>(sums[i][j]);
    T* const begin = to + i * extents.in_width;
    if (stride == 1 || is_whole) {
      *reinterpret_cast<Items<T, Tile::columns>*>(begin) = line;
    } else {
#pragma unroll
      for (int j = 0; j < Tile::columns; ++j) {
        if (column + j < extents.in_width) begin[j] = line.item[j];
      }
    }
  }
}

/// Calls `f` with the place of its first window with which a tile begins: the last that the padding
/// allows, which is_small_window() has made the same along both axes.
template <class W, class F>
void with_first_place(W, const PoolRun& run, const F& f) {
  constexpr int last = W::size - 1;
  if constexpr (W::size == W::stride) {
    f(std::integral_constant<int, 0>{});
  } else if constexpr (W::stride == 1) {
    f(std::integral_constant<int, last>{});
  } else if ((run.pad[2] - last) % W::stride == 0) {
    f(std::integral_constant<int, last>{});
  } else {
    f(std::integral_constant<int, last - 1>{});
  }
}

template <class Tile>
WindowPlace first_window(const PoolRun& run) {
  constexpr int place = Tile::place(0, 0), stride = Tile::Window::stride;
  return {(run.pad[1] - place) / stride, (run.pad[2] - place) / stride};
}

template <class T, class Tile, bool is_maximum>
void gather(const PoolRun& run, T* dx, const T* dy, const std::uint8_t* notes,
            cudaStream_t stream) {
  const Tiles tiles(run.planes, run.in[1], run.in[2], Tile::rows, Tile::columns);
  const bool is_whole = run.in[2] % Tile::columns == 0 && holds_items<T, Tile::columns>(dx);
  gather_from_windows<T, Tile, is_maximum>
      <<<blocks_for(tiles.count), threads_per_block, 0, stream>>>(
          tiles, WindowExtents(run), first_window<Tile>(run), is_whole, dx, dy, notes);
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void pool_small_windows_gradient(const PoolRun& run, void* dx, const void* dy,
                                 const std::uint8_t* notes, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    with_window<T>(run, dx, dy, notes, [&](auto window) {
      with_first_place(window, run, [&](auto place) {
        with_flag(run.kind == PoolKind::maximum, [&](auto is_maximum) {
          using Tile = GradientTile<decltype(window), place.value>;
          gather<T, Tile, is_maximum.value>(run, static_cast<T*>(dx), static_cast<const T*>(dy),
                                            notes, stream);
        });
      });
    });
  });
}

}  // namespace strata::cuda::train
