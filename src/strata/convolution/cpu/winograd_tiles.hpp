// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace strata::cpu {

/// Images cut into tiles: numbered image by image, row by row. Tile (ty, tx) covers the pixels from
/// (ty·step − zeros_above, tx·step − zeros_left) on; what lies outside the image is zero.
struct TileGrid {
  int step = 2;  ///< from one tile to the next: the m of F(m×m, 3×3)
  std::int64_t height = 1, width = 1;
  std::int64_t image_step = 0;  ///< from one image to the next, in floats
  std::int64_t zeros_above = 0, zeros_left = 0;
  std::int64_t rows = 1, columns = 1;  ///< of tiles
};

/// Tiles first … first+count−1 of one channel, `side`² elements each, as split_line leaves them.
/// `line`: line_floats(grid) floats to work in.
void gather_tiles(const TileGrid& grid, std::int64_t side, const float* channel, std::int64_t first,
                  std::int64_t count, float* to, std::int64_t step, float* line);

/// Writes tiles of grid.step² elements to the pixels that they cover.
void scatter_tiles(const TileGrid& grid, const float* from, std::int64_t step, std::int64_t first,
                   std::int64_t count, float* channel, float* line);

std::int64_t line_floats(const TileGrid& grid);

}  // namespace strata::cpu
