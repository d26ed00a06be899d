// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/winograd_tiles.hpp"

#include "strata/convolution/cpu/winograd_kernels.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

/// Calls visit(image, tile row, first tile column, tiles, place) for every row of the grid that has
/// tiles in the range.
template <class Visit>
void visit_tile_rows(const TileGrid& grid, std::int64_t first, std::int64_t count,
                     const Visit& visit) {
  std::int64_t tile_row = first / grid.columns;
  std::int64_t column = first % grid.columns;
  for (std::int64_t place = 0; place < count; ++tile_row, column = 0) {
    const std::int64_t tiles = std::min(grid.columns - column, count - place);
    visit(tile_row / grid.rows, tile_row % grid.rows, column, tiles, place);
    place += tiles;
  }
}

}  // namespace

std::int64_t line_floats(const TileGrid& grid) {
  return (grid.columns + 34) * grid.step;  // whole vectors of tiles, and the overlap of the last
}

void gather_tiles(const TileGrid& g, std::int64_t side, const float* channel, std::int64_t first,
                  std::int64_t count, float* to, std::int64_t step, float* line) {
  visit_tile_rows(g, first, count,
                  [&](std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t tiles,
                      std::int64_t place) {
                    const std::int64_t pixels = (tiles - 1) * g.step + side;
                    const std::int64_t left = column * g.step - g.zeros_left;
                    const std::int64_t begin = std::clamp<std::int64_t>(-left, 0, pixels);
                    const std::int64_t end =
                        std::clamp<std::int64_t>(g.width - left, begin, pixels);
                    for (std::int64_t i = 0; i < side; ++i) {
                      const std::int64_t y = row * g.step - g.zeros_above + i;
                      if (y < 0 || y >= g.height) {
                        std::fill_n(line, pixels, 0.0F);
                      } else {
                        const float* const from = channel + image * g.image_step + y * g.width;
                        std::fill_n(line, begin, 0.0F);
                        std::copy(from + left + begin, from + left + end, line + begin);
                        std::fill(line + end, line + pixels, 0.0F);
                      }
                      float* const at = to + i * side * step + place;
                      if (tiles < 4) {
                        for (std::int64_t j = 0; j < side; ++j) {
                          for (std::int64_t t = 0; t < tiles; ++t)
                            at[j * step + t] = line[t * g.step + j];
                        }
                      } else {
                        split_line(g.step, line, tiles, side, at, step);
                      }
                    }
                  });
}

void scatter_tiles(const TileGrid& g, const float* from, std::int64_t step, std::int64_t first,
                   std::int64_t count, float* channel, float* line) {
  visit_tile_rows(g, first, count,
                  [&](std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t tiles,
                      std::int64_t place) {
                    const std::int64_t left = column * g.step;
                    const std::int64_t pixels = std::min(tiles * g.step, g.width - left);
                    for (std::int64_t i = 0; i < g.step; ++i) {
                      const std::int64_t y = row * g.step + i;
                      if (y >= g.height) break;
                      join_line(g.step, from + i * g.step * step + place, step, tiles, line);
                      std::copy_n(line, pixels,
                                  channel + image * g.image_step + y * g.width + left);
                    }
                  });
}

}  // namespace strata::cpu
