// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/convolution/implicit.cuh"
#include "strata/measure/cuda/convolution/implicit_tile.cuh"

#include <algorithm>

namespace strata::cuda {
namespace {

constexpr short nowhere = -32768;
constexpr int table_threads = 256;

__global__ void window_table(ConvView view, WindowEntry* table, int entries) {
  const int k = static_cast<int>(blockIdx.x) * table_threads + static_cast<int>(threadIdx.x);
  if (k >= entries) return;
  const int window = view.kernel_height * view.kernel_width;
  const int channel = k / window, tap = k - channel * window;
  const int y = tap / view.kernel_width * view.dilation_height;
  const int x = tap % view.kernel_width * view.dilation_width;
  const int plane = channel * view.in_height * view.in_width;
  const bool is_spread = view.gap_height > 1 || view.gap_width > 1;
  WindowEntry entry = {plane, static_cast<short>(y), static_cast<short>(x)};
  if (!is_spread) entry.offset += y * view.in_width + x;
  if (channel >= view.in_channels / view.groups) entry = {0, nowhere, nowhere};
  table[k] = entry;
}

/// The images around one output pixel.
struct PixelPlace {
  int base = 0;  // of its image, moved to its window where the images are not spread
  int y = nowhere, x = nowhere;
};

template <bool IsSpread>
__device__ PixelPlace pixel_place(const ConvView& view, int image_begin, int oy, int ox) {
  PixelPlace place;
  place.y = oy * view.stride_height - view.pad_height;
  place.x = ox * view.stride_width - view.pad_width;
  place.base = image_begin;
  if (!IsSpread) place.base += place.y * view.in_width + place.x;
  return place;
}

/// Begins the copy of the number that `entry` names in the window of `pixel`.
template <bool IsSpread>
__device__ __forceinline__ void copy_number(const ConvView& view, const float* images,
                                            const PixelPlace& pixel, const WindowEntry& entry,
                                            float* to) {
  int y = pixel.y + entry.y, x = pixel.x + entry.x;
  if constexpr (IsSpread) {
    const int row = y / view.gap_height, column = x / view.gap_width;
    const bool is_there = y >= 0 && x >= 0 && row * view.gap_height == y &&
                          column * view.gap_width == x && row < view.in_height &&
                          column < view.in_width;
    const int at = pixel.base + entry.offset + row * view.in_width + column;
    copy_later(to, images + (is_there ? at : 0), is_there);
  } else {
    const bool is_there = static_cast<unsigned>(y) < static_cast<unsigned>(view.in_height) &&
                          static_cast<unsigned>(x) < static_cast<unsigned>(view.in_width);
    copy_later(to, images + (is_there ? pixel.base + entry.offset : 0), is_there);
  }
}

/// A warp's rows of results, put in order through shared memory so that they are written side by
/// side: `first` is the warp's first pixel, `to` where its image and row begin.
__device__ __forceinline__ void write_rows(const float (&sums)[8][8], float* place, int lane,
                                           int first, int row0, int rows, const ConvView& view,
                                           int out_channel0, float* __restrict__ results) {
  const int area = view.out_height * view.out_width, pixels = view.batch * area;
  int at[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int pixel = first + half * 32 + lane, image = pixel / area;
    at[half] = pixel < pixels ? image * (view.out_channels - 1) * area + pixel : -1;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    __syncwarp();
    float* mine = place + lane / 8 * 64 + lane % 8 * 4;
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
          results[at[half] + (out_channel0 + row) * area] = place[line * 64 + half * 32 + lane];
      }
    }
  }
}

template <int Rows, bool IsSpread>
__global__ void __launch_bounds__(ProductTile<Rows, 128>::threads, Rows == 64 ? 4 : 8)
    product(ConvView view, const WindowEntry* __restrict__ table, const float* __restrict__ kernels,
            const float* __restrict__ images, float* __restrict__ results) {
  using T = ProductTile<Rows, 128>;
  __shared__ typename T::Stage stages[T::stages];
  const int tid = static_cast<int>(threadIdx.x);
  const int group = static_cast<int>(blockIdx.z);
  const int filters = view.out_channels / view.groups;
  const int channels = view.in_channels / view.groups;
  const int inner = channels * view.kernel_height * view.kernel_width;
  const int area = view.out_height * view.out_width;
  const int plane = view.in_height * view.in_width;
  const int pixels = view.batch * area;
  const int row0 = static_cast<int>(blockIdx.y) * Rows;
  const int column0 = static_cast<int>(blockIdx.x) * T::columns;

  // On the right a thread has some pixels and all numbers of each step.
  constexpr int pixels_per_thread = T::columns / T::threads;
  PixelPlace places[pixels_per_thread];
#pragma unroll
  for (int i = 0; i < pixels_per_thread; ++i) {
    const int pixel = column0 + tid + i * T::threads;
    if (pixel >= pixels) continue;
    const int image = pixel / area, at = pixel - image * area, oy = at / view.out_width;
    places[i] = pixel_place<IsSpread>(view, (image * view.in_channels + group * channels) * plane,
                                      oy, at - oy * view.out_width);
  }
  const float* my_kernels = kernels + static_cast<std::int64_t>(group) * filters * inner;
  const auto load = [&](typename T::Stage& stage, int step) {
    const int k0 = step * T::depth;
    WindowEntry entries[T::depth];
#pragma unroll
    for (int k = 0; k < T::depth; k += 2)
      *reinterpret_cast<int4*>(entries + k) = __ldg(reinterpret_cast<const int4*>(table + k0 + k));
#pragma unroll
    for (int i = 0; i < pixels_per_thread; ++i)
#pragma unroll
      for (int k = 0; k < T::depth; ++k)
        copy_number<IsSpread>(view, images, places[i], entries[k],
                              &stage.right[k][tid + i * T::threads]);
#pragma unroll
    for (int i = 0; i < Rows * T::depth / T::threads; ++i) {
      const int k = tid % T::depth, row = tid / T::depth + i * (T::threads / T::depth);
      const bool is_there = row0 + row < filters && k0 + k < inner;
      copy_later(&stage.left[k][row], my_kernels + (is_there ? (row0 + row) * inner + k0 + k : 0),
                 is_there);
    }
  };
  const ThreadPlace<T> place;
  float sums[8][8] = {};
  multiply_tiles<T>(stages, (inner + T::depth - 1) / T::depth, place, sums, load);

  __syncthreads();  // the stages serve again
  const int lane = tid % 32;
  write_rows(sums, reinterpret_cast<float*>(stages) + tid / 32 * 256, lane,
             column0 + place.column - lane % 8 * 4, row0 + place.row - lane / 8 * 4, filters, view,
             group * filters, results);
}

using WeightTile = ProductTile<64, 128>;

/// A thread's results, to a matrix of `rows` × `columns`.
__device__ __forceinline__ void write_block(const float (&sums)[8][8], int row0, int column0,
                                            int rows, int columns, float* to) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + i % 4 + i / 4 * 16;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = column0 + j % 4 + j / 4 * 32;
      if (row < rows && column < columns) to[row * columns + column] = sums[i][j];
    }
  }
}

// Rows: filters; columns: numbers of the window; inner: some of the pixels of all images.
__global__ void __launch_bounds__(WeightTile::threads, 4)
    weight_product(ConvView view, const WindowEntry* __restrict__ table,
                   const float* __restrict__ images, const float* __restrict__ gradients, int parts,
                   float* __restrict__ sums_out) {
  using T = WeightTile;
  static_assert(T::threads == T::columns, "a thread has one number of the window");
  __shared__ typename T::Stage stages[T::stages];
  const int tid = static_cast<int>(threadIdx.x);
  const int group = static_cast<int>(blockIdx.z) / parts,
            part = static_cast<int>(blockIdx.z) % parts;
  const int filters = view.out_channels / view.groups;
  const int channels = view.in_channels / view.groups;
  const int inner = channels * view.kernel_height * view.kernel_width;
  const int area = view.out_height * view.out_width;
  const int plane = view.in_height * view.in_width;
  const int pixels = view.batch * area;
  const int steps_in_all = (pixels + T::depth - 1) / T::depth;
  const int steps_per_part = (steps_in_all + parts - 1) / parts;
  const int begin = min(part * steps_per_part, steps_in_all);
  const int steps = min(steps_per_part, steps_in_all - begin);
  const int row0 = static_cast<int>(blockIdx.y) * T::rows;
  const int column0 = static_cast<int>(blockIdx.x) * T::columns;
  const WindowEntry entry =
      column0 + tid < inner ? table[column0 + tid] : WindowEntry{0, nowhere, nowhere};

  // The pixel at which the next load begins; the loads come in order.
  int image = begin * T::depth / area;
  int oy = (begin * T::depth - image * area) / view.out_width;
  int ox = begin * T::depth - image * area - oy * view.out_width;
  const auto load = [&](typename T::Stage& stage, int step) {
    const int k0 = (begin + step) * T::depth;
#pragma unroll
    for (int i = 0; i < T::depth; ++i) {
      PixelPlace pixel;
      if (image < view.batch) {
        pixel =
            pixel_place<false>(view, (image * view.in_channels + group * channels) * plane, oy, ox);
      }
      copy_number<false>(view, images, pixel, entry, &stage.right[i][tid]);
      if (++ox == view.out_width) {
        ox = 0;
        if (++oy == view.out_height) oy = 0, ++image;
      }
    }
    const int k = k0 + tid % T::depth;
    const int of = k / area;
    const int from = (of * view.out_channels + group * filters) * area + k - of * area;
#pragma unroll
    for (int i = 0; i < T::rows * T::depth / T::threads; ++i) {
      const int row = tid / T::depth + i * (T::threads / T::depth);
      const bool is_there = row0 + row < filters && k < pixels;
      copy_later(&stage.left[tid % T::depth][row],
                 gradients + (is_there ? from + (row0 + row) * area : 0), is_there);
    }
  };
  const ThreadPlace<T> place;
  float sums[8][8] = {};
  multiply_tiles<T>(stages, steps, place, sums, load);
  float* to = sums_out + (static_cast<std::int64_t>(part) * view.groups + group) * filters * inner;
  write_block(sums, row0 + place.row, column0 + place.column, filters, inner, to);
}

bool is_spread(const ConvView& view) { return view.gap_height > 1 || view.gap_width > 1; }
int rows_for(const ConvView& view) { return view.out_channels / view.groups > 32 ? 64 : 32; }
unsigned blocks_of(int items, int per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

using ProductKernel = void (*)(ConvView, const WindowEntry*, const float*, const float*, float*);
ProductKernel product_for(const ConvView& view) {
  if (rows_for(view) == 64) return is_spread(view) ? product<64, true> : product<64, false>;
  return is_spread(view) ? product<32, true> : product<32, false>;
}

}  // namespace

int window_entries(const ConvView& view) {
  return (view.in_channels / view.groups * view.kernel_height * view.kernel_width + 7) / 8 * 8;
}

void fill_window_table(const ConvView& view, WindowEntry* table, cudaStream_t stream) {
  const int entries = window_entries(view);
  window_table<<<blocks_of(entries, table_threads), table_threads, 0, stream>>>(view, table,
                                                                                entries);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void implicit_product(const ConvView& view, const WindowEntry* table, const float* kernels,
                      const float* images, float* results, cudaStream_t stream) {
  const int rows = rows_for(view);
  const int threads = rows == 64 ? ProductTile<64, 128>::threads : ProductTile<32, 128>::threads;
  const dim3 grid(blocks_of(view.batch * view.out_height * view.out_width, 128),
                  blocks_of(view.out_channels / view.groups, rows),
                  static_cast<unsigned>(view.groups));
  product_for(view)<<<grid, threads, 0, stream>>>(view, table, kernels, images, results);
  STRATA_CUDA_CALL(cudaGetLastError());
}

int implicit_parts(const ConvView& view) {
  constexpr int wanted_blocks = 1056;  // two rounds of an H200's 132 SMs with 4 blocks each
  constexpr int least_steps = 64;
  const int inner = view.in_channels / view.groups * view.kernel_height * view.kernel_width;
  const std::int64_t tiles = static_cast<std::int64_t>(blocks_of(inner, WeightTile::columns)) *
                             blocks_of(view.out_channels / view.groups, WeightTile::rows) *
                             view.groups;
  const std::int64_t steps =
      (static_cast<std::int64_t>(view.batch) * view.out_height * view.out_width + 7) / 8;
  const std::int64_t parts = std::min(wanted_blocks / tiles, steps / least_steps);
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, 65535 / view.groups));
}

void implicit_weight_gradient(const ConvView& view, const WindowEntry* table, const float* images,
                              const float* gradients, int parts, float* sums, cudaStream_t stream) {
  const int inner = view.in_channels / view.groups * view.kernel_height * view.kernel_width;
  const dim3 grid(blocks_of(inner, WeightTile::columns),
                  blocks_of(view.out_channels / view.groups, WeightTile::rows),
                  static_cast<unsigned>(parts * view.groups));
  weight_product<<<grid, WeightTile::threads, 0, stream>>>(view, table, images, gradients, parts,
                                                           sums);
  STRATA_CUDA_CALL(cudaGetLastError());
}

const void* implicit_kernel(const ConvView& view) {
  return reinterpret_cast<const void*>(product_for(view));
}
const void* implicit_weight_kernel() { return reinterpret_cast<const void*>(&weight_product); }

}  // namespace strata::cuda
