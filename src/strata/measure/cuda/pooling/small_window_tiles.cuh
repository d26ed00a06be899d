// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/index_map.cuh"
#include "strata/measure/cuda/pooling/small_window.cuh"

#include <type_traits>

/// What pooling by small windows and its gradient share: which tile of a plane a thread takes, and
/// how it reads rows. Offsets are of 32 bits, as no tensor has 2³¹ numbers. For nvcc only.
namespace strata::cuda::train {

/// Windows of `size` × `size`, `stride` apart. A thread takes `columns` of them side by side: one,
/// or two or four that are read and written as one.
template <int window_size, int window_stride, int window_columns>
struct SmallWindow {
  static constexpr int size = window_size, stride = window_stride, columns = window_columns;
  static constexpr bool is_wide = columns > 1;
  /// Rows of results or gradients of a thread with a stride of 1, which share what is read. Seven
  /// divide heights that networks have and four do not: 7, 14 and 35.
  static constexpr int rows = columns == 4 ? 4 : 7;
};

/// A place in a window as a byte.
__host__ __device__ constexpr int note_of(int y, int x) { return 16 * y + x; }

__device__ inline int value(std::uint8_t note) { return note; }

/// Planes of one extent that are cut into tiles: a thread for each.
struct Tiles {
  FastDivisor columns, rows;
  std::uint32_t count;

  Tiles(std::int64_t planes, int height, int width, int tile_height, int tile_width)
      : columns(static_cast<std::uint32_t>((width + tile_width - 1) / tile_width)),
        rows(static_cast<std::uint32_t>((height + tile_height - 1) / tile_height)),
        count(static_cast<std::uint32_t>(planes) * columns.divisor * rows.divisor) {}

  struct Place {
    std::uint32_t plane;
    int row, column;
  };
  __device__ Place place(std::uint32_t n) const {
    const std::uint32_t line = columns.quotient(n), plane = rows.quotient(line);
    return {plane, static_cast<int>(line - plane * rows.divisor),
            static_cast<int>(n - line * columns.divisor)};
  }
};

struct WindowExtents {
  int in_height, in_width, out_height, out_width, pad_y, pad_x;
  bool counts_padding;

  explicit WindowExtents(const PoolRun& run)
      : in_height(run.in[1]),
        in_width(run.in[2]),
        out_height(run.out[1]),
        out_width(run.out[2]),
        pad_y(run.pad[1]),
        pad_x(run.pad[2]),
        counts_padding(run.counts_padding) {}
};

/// Numbers of a row from `left` on; those that lie outside are `outside`. is_wide: all but the
/// first and the last are one aligned item. Registers are filled before they are loaded over, so
/// that whether a number lies inside is forgotten as soon as it has been asked for.
template <bool is_wide, int count, class A, class T>
__device__ void read_row(A (&numbers)[count], const T* row, int left, int width, bool is_row,
                         T outside) {
  const auto read_one = [&](int c) {
    const bool is_inside = is_row & (static_cast<unsigned>(left + c) < unsigned(width));
    numbers[c] = value(outside);
    if (is_inside) numbers[c] = value(row[left + c]);
  };
  if constexpr (is_wide) {
    constexpr int inner = count - 2;
    Items<T, inner> items;
#pragma unroll
    for (int c = 0; c < inner; ++c) items.item[c] = outside;
    if (is_row) items = *reinterpret_cast<const Items<T, inner>*>(row + left + 1);
#pragma unroll
    for (int c = 0; c < inner; ++c) numbers[c + 1] = value(items.item[c]);
    read_one(0);
    read_one(count - 1);
  } else {
#pragma unroll
    for (int c = 0; c < count; ++c) read_one(c);
  }
}

/// What one of a window's places counts in an average, along one axis: one over how many places
/// count. A division would take longer than all the rest.
template <class A, int size>
__device__ A share_of(bool counts_padding, int first, int extent) {
  const int begin = first > 0 ? first : 0, end = first + size < extent ? first + size : extent;
  const int count = counts_padding ? size : end - begin;
  return count == size ? A(1) / A(size) : (count == 2 ? A(0.5) : A(1));
}

/// Calls `f` with the window. Several columns are one item where 3×3 with a stride of 1 keeps the
/// width, and rows are a multiple of the item.
template <class T, class F>
void with_window(const PoolRun& run, const void* x, const void* y, const std::uint8_t* notes,
                 const F& f) {
  const auto is_wide = [&](auto columns) {
    constexpr int count = columns.value;
    return run.pad[2] == 1 && run.in[2] == run.out[2] && run.in[2] % count == 0 &&
           holds_items<T, count>(static_cast<const T*>(x)) &&
           holds_items<T, count>(static_cast<const T*>(y)) &&
           holds_items<std::uint8_t, count>(notes);
  };
  if (run.kernel[2] == 2) {
    f(SmallWindow<2, 2, 1>{});
  } else if (run.stride[2] == 2) {
    f(SmallWindow<3, 2, 1>{});
  } else if (is_wide(std::integral_constant<int, 4>{})) {
    f(SmallWindow<3, 1, 4>{});
  } else if (is_wide(std::integral_constant<int, 2>{})) {
    f(SmallWindow<3, 1, 2>{});
  } else {
    f(SmallWindow<3, 1, 1>{});
  }
}

template <class F>
void with_flag(bool flag, const F& f) {
  if (flag) {
    f(std::true_type{});
  } else {
    f(std::false_type{});
  }
}

}  // namespace strata::cuda::train
