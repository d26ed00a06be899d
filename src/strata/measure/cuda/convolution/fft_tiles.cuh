// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/convolution/fft.cuh"

/// One lane's column of a tile in the images: reading and writing it.
namespace strata::cuda {

struct Tile {
  std::int64_t plane = 0;  ///< where its channel of its image begins
  int y = 0;               ///< of its first row, in the spread images
  int x = 0;               ///< of the lane's column, in the images
  bool is_inside = false;  ///< the lane's column is one of the images
};

__device__ inline Tile tile_at(const TileGrid& grid, int channel, int image, int place, int lane) {
  Tile tile;
  const int ty = place / grid.tiles_x, tx = place - ty * grid.tiles_x;
  tile.plane =
      (static_cast<std::int64_t>(image) * grid.channels + channel) * grid.height * grid.width;
  tile.y = ty * grid.step_height - grid.origin_height;
  const int spread = tx * grid.step_width - grid.origin_width + lane;
  tile.x = grid.gap_width == 1 ? spread : spread / grid.gap_width;
  tile.is_inside = lane < grid.limit_width && spread >= 0 && tile.x < grid.width &&
                   tile.x * grid.gap_width == spread;
  return tile;
}

/// Nothing is inside when there is no such spectrum.
__device__ inline Tile tile_of(const TileGrid& grid, std::int64_t spectrum, std::int64_t count,
                               int lane) {
  if (spectrum >= count) return {};
  const int tiles = grid.tiles_y * grid.tiles_x;
  const int per_channel = grid.images * tiles;
  const int channel = static_cast<int>(spectrum / per_channel);
  const int rest = static_cast<int>(spectrum - static_cast<std::int64_t>(channel) * per_channel);
  const int image = rest / tiles;
  return tile_at(grid, channel, image, rest - image * tiles, lane);
}

/// The row of the images, or −1.
__device__ inline int row_at(const TileGrid& grid, const Tile& tile, int row) {
  const int spread = tile.y + row;
  const int y = grid.gap_height == 1 ? spread : spread / grid.gap_height;
  const bool is_inside =
      row < grid.limit_height && spread >= 0 && y < grid.height && y * grid.gap_height == spread;
  return is_inside ? y : -1;
}

template <int N, class Put>
__device__ __forceinline__ void load_column(const TileGrid& grid, const Tile& tile,
                                            const float* __restrict__ images, float2 (&a)[N],
                                            const Put& put) {
  const float* column = images + tile.plane + tile.x;
#pragma unroll
  for (int row = 0; row < N; ++row) {
    const int y = row_at(grid, tile, row);
    put(a[row], tile.is_inside && y >= 0 ? __ldg(column + y * grid.width) : 0.0F);
  }
}

template <int N, class Get>
__device__ __forceinline__ void store_column(const TileGrid& grid, const Tile& tile,
                                             float* __restrict__ images, const float2 (&a)[N],
                                             const Get& get) {
  float* column = images + tile.plane + tile.x;
#pragma unroll
  for (int row = 0; row < N; ++row) {
    const int y = row_at(grid, tile, row);
    if (tile.is_inside && y >= 0) column[y * grid.width] = get(a[row]);
  }
}

}  // namespace strata::cuda
