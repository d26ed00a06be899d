// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/implicit_lookup.cuh"

/// The product of unrolling as one kernel, for any tile.
namespace strata::cuda {

/// The table and the packed kernels are filled up to a multiple of so many numbers of the window,
/// and have more behind them, which the product reads ahead.
constexpr int inner_step = 16, inner_ahead = 48;

/// Which numbers of each step a thread copies. On the right it has some pixels, and of each some
/// numbers one after the other; on the left, fours of filters.
template <class T, Lookup How>
class ProductLoader {
 public:
  __device__ ProductLoader(const ConvView& view, const WindowEntry* table, const float* packed,
                           int packed_rows, const float* images, int row0, int column0, int group,
                           int first_step)
      : view_(view), images_(images), packed_rows_(packed_rows) {
    const int tid = static_cast<int>(threadIdx.x);
    const int channels = view.in_channels / view.groups;
    const int area = view.out_height * view.out_width, pixels = view.batch * area;
    const int plane = view.in_height * view.in_width;
    const int inner = channels * view.kernel_height * view.kernel_width;
    const int inner_steps = (inner + inner_step - 1) / inner_step * inner_step + inner_ahead;
    const int first = first_step * T::depth;
    packed_ =
        packed + (static_cast<std::int64_t>(group) * inner_steps + first) * packed_rows + row0;
    column_ = tid % T::columns;
    begin_ = tid / T::columns * numbers;
    table_ = reinterpret_cast<const int4*>(table + first + begin_);
#pragma unroll
    for (int i = 0; i < pixels_each; ++i) {
      // The last pixel stands for those beyond it; nobody writes their results.
      const int pixel = min(column0 + column_ + i * T::threads, pixels - 1);
      const int image = pixel / area, at = pixel - image * area, oy = at / view.out_width;
      places_[i] = pixel_place<How>(view, (image * view.in_channels + group * channels) * plane, oy,
                                    at - oy * view.out_width);
    }
  }

  // The entries of four numbers are read some multiplications before they are needed.
  __device__ __forceinline__ void operator()(typename T::Stage& stage, int step, int k) {
    if (k % spacing == 0) read_entries(step, k / spacing);
    if (k % spacing == spacing / 2) copy_right(stage, k / spacing);
    if (k == spacing / 2) copy_left(stage, step);
  }

 private:
  static constexpr int pixels_each = T::columns > T::threads ? T::columns / T::threads : 1;
  static constexpr int numbers = T::columns * T::depth / T::threads / pixels_each;
  static constexpr int all_fours = T::rows * T::depth / 4;
  static constexpr int fours = (all_fours + T::threads - 1) / T::threads;
  static_assert(pixels_each * numbers * T::threads == T::columns * T::depth);
  static_assert(numbers % 4 == 0 && T::depth % numbers == 0 && inner_step % T::depth == 0);
  static_assert((T::stages - 1) * T::depth <= inner_ahead);
  static constexpr int spacing = T::depth / (numbers / 4);

  __device__ __forceinline__ void read_entries(int step, int four) {
    const int4* from = table_ + (step * T::depth + 4 * four) / 2;
    *reinterpret_cast<int4*>(entries_) = __ldg(from);
    *reinterpret_cast<int4*>(entries_ + 2) = __ldg(from + 1);
  }

  __device__ __forceinline__ void copy_right(typename T::Stage& stage, int four) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < pixels_each; ++i)
        copy_number<How>(view_, images_, places_[i], entries_[j],
                         &stage.right[begin_ + 4 * four + j][column_ + i * T::threads]);
  }

  __device__ __forceinline__ void copy_left(typename T::Stage& stage, int step) {
#pragma unroll
    for (int i = 0; i < fours; ++i) {
      const int four = static_cast<int>(threadIdx.x) + i * T::threads;
      if (all_fours % T::threads != 0 && four >= all_fours) continue;
      const int k = four / (T::rows / 4), row = four % (T::rows / 4) * 4;
      copy_four_later(
          &stage.left[k][row],
          packed_ + static_cast<std::int64_t>(step * T::depth + k) * packed_rows_ + row);
    }
  }

  const ConvView& view_;
  const float* images_;
  const float* packed_;
  const int4* table_;
  int packed_rows_, column_, begin_;
  PixelPlace places_[pixels_each];
  alignas(16) WindowEntry entries_[4];
};

/// A warp's rows of results, put in order through shared memory so that they are written side by
/// side: `first` is the warp's first pixel.
template <class T>
__device__ __forceinline__ void write_in_order(const ThreadSums<T>& sums, float* place, int first,
                                               int row0, int rows, const ConvView& view,
                                               int out_channel0, float* __restrict__ results) {
  constexpr int pitch = 80;  // two lines of four go to 32 banks
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int area = view.out_height * view.out_width, pixels = view.batch * area;
  int at[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int pixel = first + half * 32 + lane, image = pixel / area;
    at[half] = pixel < pixels ? image * (view.out_channels - 1) * area + pixel : -1;
  }
#pragma unroll
  for (int i = 0; i < T::thread_rows; ++i) {
    __syncwarp();
    float* mine = place + (lane / 16 * 2 + lane % 2) * pitch + lane / 2 % 8 * 4;
    *reinterpret_cast<float4*>(mine) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    *reinterpret_cast<float4*>(mine + 32) =
        make_float4(sums[i][4], sums[i][5], sums[i][6], sums[i][7]);
    __syncwarp();
#pragma unroll
    for (int line = 0; line < 4; ++line) {
      const int row = row0 + line * 4 + i % 4 + i / 4 * 16;
      if (row >= rows) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (at[half] >= 0)
          results[at[half] + (out_channel0 + row) * area] = place[line * pitch + half * 32 + lane];
      }
    }
  }
}

/// Where four pixels side by side are so in the results: images of a multiple of four.
template <class T>
__device__ __forceinline__ void write_fours(const ThreadSums<T>& sums, int column, int row0,
                                            int rows, const ConvView& view, int out_channel0,
                                            float* __restrict__ results) {
  const int area = view.out_height * view.out_width, pixels = view.batch * area;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int pixel = column + half * 32;
    if (pixel >= pixels) continue;
    float* to = results + pixel / area * (view.out_channels - 1) * area + pixel;
#pragma unroll
    for (int i = 0; i < T::thread_rows; ++i) {
      const int row = row0 + i % 4 + i / 4 * 16;
      if (row < rows)
        *reinterpret_cast<float4*>(to + (out_channel0 + row) * area) = make_float4(
            sums[i][4 * half], sums[i][4 * half + 1], sums[i][4 * half + 2], sums[i][4 * half + 3]);
    }
  }
}

/// Blocks side by side have the same pixels and other rows: they find each other's in the cache.
/// The sum may be cut into parts (blockIdx.y), for GPUs that a few tiles would not fill: the first
/// is written to the results, the others behind each other to `parts`, in the same order.
template <class T, Lookup How, int Blocks>
__global__ void __launch_bounds__(T::threads, Blocks)
    product(ConvView view, const WindowEntry* __restrict__ table, const float* __restrict__ packed,
            int packed_rows, const float* __restrict__ images, float* __restrict__ results,
            float* __restrict__ parts) {
  __shared__ typename T::Stage stages[T::stages];
  const int group = static_cast<int>(blockIdx.z), part = static_cast<int>(blockIdx.y);
  const int filters = view.out_channels / view.groups;
  const int area = view.out_height * view.out_width;
  const int inner = view.in_channels / view.groups * view.kernel_height * view.kernel_width;
  const int all_steps = (inner + T::depth - 1) / T::depth;
  const int part_steps =
      (all_steps + static_cast<int>(gridDim.y) - 1) / static_cast<int>(gridDim.y);
  const int first_step = min(part * part_steps, all_steps);
  const int row_tiles = packed_rows / T::rows;
  const int tile = static_cast<int>(blockIdx.x) / row_tiles;
  const int row0 = (static_cast<int>(blockIdx.x) - tile * row_tiles) * T::rows;
  const int column0 = tile * T::columns;
  ProductLoader<T, How> loader(view, table, packed, packed_rows, images, row0, column0, group,
                               first_step);
  const ThreadPlace<T> place;
  ThreadSums<T> sums = {};
  multiply_tiles<T>(stages, min(part_steps, all_steps - first_step), place, sums, loader);
  if (part > 0)
    results = parts + static_cast<std::int64_t>(part - 1) * view.batch * view.out_channels * area;
  if (area % 4 == 0) {
    write_fours<T>(sums, column0 + place.column, row0 + place.row, filters, view, group * filters,
                   results);
    return;
  }
  __syncthreads();  // the stages serve again
  const int warp = static_cast<int>(threadIdx.x) / 32;
  write_in_order<T>(sums, reinterpret_cast<float*>(stages) + warp * 320,
                    column0 + warp / T::warps_down * T::warp_columns,
                    row0 + warp % T::warps_down * T::warp_rows, filters, view, group * filters,
                    results);
}

}  // namespace strata::cuda
