// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/view.cuh"

/// A rectangle of one channel of one image in shared memory.
namespace strata::cuda {

/// The numbers that a tile of `rows` × `columns` results needs.
struct PatchSize {
  int height, width;
#ifdef __CUDACC__
  __host__ __device__
#endif
  PatchSize(const ConvView& view, int rows, int columns)
      : height((rows - 1) * view.stride_height + view.extent_height()),
        width((columns - 1) * view.stride_width + view.extent_width()) {
  }
#ifdef __CUDACC__
  __host__ __device__
#endif
      int
      numbers() const {
    return height * width;
  }
};

#ifdef __CUDACC__
/// All threads of the block; (oy, ox) is the tile's first result.
template <int Threads>
__device__ __forceinline__ void load_patch(const ConvView& view, const PatchSize& size,
                                           const float* __restrict__ plane, int oy, int ox,
                                           float* patch) {
  const int y0 = oy * view.stride_height - view.pad_height;
  const int x0 = ox * view.stride_width - view.pad_width;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int row = static_cast<int>(threadIdx.x) / 32; row < size.height; row += Threads / 32) {
    const int spread_y = y0 + row;
    const int y = view.gap_height == 1 ? spread_y : spread_y / view.gap_height;
    const bool is_row = spread_y >= 0 && y < view.in_height && y * view.gap_height == spread_y;
    for (int column = lane; column < size.width; column += 32) {
      const int spread_x = x0 + column;
      const int x = view.gap_width == 1 ? spread_x : spread_x / view.gap_width;
      const bool is_inside =
          is_row && spread_x >= 0 && x < view.in_width && x * view.gap_width == spread_x;
      patch[row * size.width + column] = is_inside ? __ldg(plane + y * view.in_width + x) : 0.0F;
    }
  }
}
#endif

}  // namespace strata::cuda
