// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace strata::cpu {

/// The images of a channel, cut into tiles that are numbered image by image, row by row. A tile
/// begins at (row · step_y − zeros_above, column · step_x − zeros_left) of its image; what lies
/// outside the image, or beyond reach_y × reach_x of the tile, is zero. Tiles overlap where they
/// reach further than a step.
struct TileGrid {
  std::int64_t images = 1, image_step = 0;  ///< from one image to the next, in floats
  std::int64_t height = 1, width = 1;       ///< of an image
  std::int64_t zeros_above = 0, zeros_left = 0;
  std::int64_t step_y = 1, step_x = 1;
  std::int64_t reach_y = 1, reach_x = 1;
  std::int64_t tile_height = 1, tile_width = 1;
  std::int64_t rows = 1, columns = 1;  ///< of tiles in an image

  std::int64_t tiles() const { return images * rows * columns; }
};

/// Element e of the tile, row after row, goes to to[e·step]. A tile beyond the last is zero.
void read_tile(const TileGrid& grid, const float* channel, std::int64_t tile, float* to,
               std::int64_t step);

/// The reverse, for what is in reach and in the image. A tile beyond the last is left out.
void write_tile(const TileGrid& grid, const float* from, std::int64_t step, std::int64_t tile,
                float* channel);

}  // namespace strata::cpu
