// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/fft.cuh"

/// One lane's column of a tile in the images: reading and writing it.
namespace strata::cuda {

struct Tile {
  std::int64_t plane = 0;       ///< where its channel of its image begins
  int y = 0;                    ///< of its first row, in the spread images
  int x = 0;                    ///< of the lane's column, in the images
  int first_row = 0, rows = 0;  ///< of the tile that are rows of the spread images; 0: the lane's
                                ///< column is none of theirs
};

__device__ inline Tile tile_at(const TileGrid& grid, int channel, int image, int place, int lane,
                               int block = 0) {
  Tile tile;
  const int ty = place / grid.tiles_x, tx = place - ty * grid.tiles_x;
  tile.plane =
      (static_cast<std::int64_t>(image) * grid.channels + channel) * grid.height * grid.width;
  const int by = block / grid.blocks_x, bx = block - by * grid.blocks_x;
  tile.y = ty * grid.step_height + by * grid.shift_height - grid.origin_height;
  const int spread = tx * grid.step_width + bx * grid.shift_width - grid.origin_width + lane;
  tile.x = grid.gap_width == 1 ? spread : spread / grid.gap_width;
  const bool is_inside = lane < grid.limit_width && spread >= 0 && tile.x < grid.width &&
                         tile.x * grid.gap_width == spread;
  tile.first_row = max(-tile.y, 0);
  const int end = min(grid.limit_height, (grid.height - 1) * grid.gap_height + 1 - tile.y);
  tile.rows = is_inside ? max(end - tile.first_row, 0) : 0;
  return tile;
}

/// Nothing is inside when there is no such spectrum.
__device__ inline Tile tile_of(const TileGrid& grid, std::int64_t spectrum, std::int64_t count,
                               int lane) {
  if (spectrum >= count) return {};
  const int tiles = grid.tiles_y * grid.tiles_x;
  const int per_channel = grid.images * tiles;
  const int plane = static_cast<int>(spectrum / per_channel);
  const int rest = static_cast<int>(spectrum - static_cast<std::int64_t>(plane) * per_channel);
  const int image = rest / tiles;
  const int blocks = grid.blocks_y * grid.blocks_x;
  const int channel = plane / blocks, block = plane - channel * blocks;
  return tile_at(grid, channel, image, rest - image * tiles, lane, block);
}

__device__ __forceinline__ bool has_row(const Tile& tile, int row) {
  return static_cast<unsigned>(row - tile.first_row) < static_cast<unsigned>(tile.rows);
}

/// Calls body(row of the tile, offset from the plane) for each row that is one of the images.
template <int N, class Body>
__device__ __forceinline__ void for_rows(const TileGrid& grid, const Tile& tile, const Body& body) {
  if (grid.gap_height == 1) {
    const int begin = tile.y * grid.width + tile.x;
#pragma unroll
    for (int row = 0; row < N; ++row)
      if (has_row(tile, row)) body(row, begin + row * grid.width);
  } else {
#pragma unroll
    for (int row = 0; row < N; ++row) {
      const int y = (tile.y + row) / grid.gap_height;
      if (has_row(tile, row) && y * grid.gap_height == tile.y + row)
        body(row, y * grid.width + tile.x);
    }
  }
}

template <int N, class Put>
__device__ __forceinline__ void load_column(const TileGrid& grid, const Tile& tile,
                                            const float* __restrict__ images, const Put& put) {
  const float* plane = images + tile.plane;
  for_rows<N>(grid, tile, [&](int row, int at) { put(row, __ldg(plane + at)); });
}

template <int N, class Get>
__device__ __forceinline__ void store_column(const TileGrid& grid, const Tile& tile,
                                             float* __restrict__ images, const Get& get) {
  float* plane = images + tile.plane;
  for_rows<N>(grid, tile, [&](int row, int at) { plane[at] = get(row); });
}

}  // namespace strata::cuda
