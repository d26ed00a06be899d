// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/implicit_lookup.cuh"

#include <algorithm>

namespace strata::cuda {
namespace {

using WeightTile = ProductTile<64, 128, 8, 8, 4, 4>;  // padding: 8 numbers of 4 rows, 32 banks

/// A thread's results, to a matrix of `rows` × `columns`.
__device__ __forceinline__ void write_block(const ThreadSums<WeightTile>& sums, int row0,
                                            int column0, int rows, int columns, float* to) {
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
  const WindowEntry entry = table[min(column0 + tid, inner)];  // the one behind the last is nowhere

  // The pixel at which the next load begins; the loads come in order.
  int image = begin * T::depth / area;
  int oy = (begin * T::depth - image * area) / view.out_width;
  int ox = begin * T::depth - image * area - oy * view.out_width;
  auto load = [&](typename T::Stage& stage, int step, int k) {
    PixelPlace pixel;
    if (image < view.batch)
      pixel = pixel_place<Lookup::checked>(
          view, (image * view.in_channels + group * channels) * plane, oy, ox);
    copy_number<Lookup::checked>(view, images, pixel, entry, &stage.right[k][tid]);
    if (++ox == view.out_width) {
      ox = 0;
      if (++oy == view.out_height) oy = 0, ++image;
    }
    constexpr int copies = T::rows * T::depth / T::threads, every = T::depth / copies;
    if (k % every != 0) return;
    const int at = (begin + step) * T::depth + tid % T::depth, of = at / area;
    const int row = tid / T::depth + k / every * (T::threads / T::depth);
    const bool is_there = row0 + row < filters && at < pixels;
    const int from =
        (of * view.out_channels + group * filters + row0 + row) * area + at - of * area;
    copy_later(&stage.left[tid % T::depth][row], gradients + (is_there ? from : 0), is_there);
  };
  const ThreadPlace<T> place;
  ThreadSums<T> sums = {};
  multiply_tiles<T>(stages, steps, place, sums, load);
  float* to = sums_out + (static_cast<std::int64_t>(part) * view.groups + group) * filters * inner;
  write_block(sums, row0 + place.row, column0 + place.column, filters, inner, to);
}

unsigned blocks_of(int items, int per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

}  // namespace

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

const void* implicit_weight_kernel() { return reinterpret_cast<const void*>(&weight_product); }

}  // namespace strata::cuda
