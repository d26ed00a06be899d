// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/tiles.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

/// Where a tile begins, and which of its rows and columns are in the image.
struct TilePlace {
  std::int64_t image, y, x;
  std::int64_t first_row, end_row, first_column, end_column;
};

TilePlace place_of(const TileGrid& g, std::int64_t tile) {
  const std::int64_t in_image = tile % (g.rows * g.columns);
  TilePlace place{.image = tile / (g.rows * g.columns),
                  .y = in_image / g.columns * g.step_y - g.zeros_above,
                  .x = in_image % g.columns * g.step_x - g.zeros_left,
                  .first_row = 0,
                  .end_row = 0,
                  .first_column = 0,
                  .end_column = 0};
  place.first_row = std::clamp<std::int64_t>(-place.y, 0, g.reach_y);
  place.end_row = std::clamp(g.height - place.y, place.first_row, g.reach_y);
  place.first_column = std::clamp<std::int64_t>(-place.x, 0, g.reach_x);
  place.end_column = std::clamp(g.width - place.x, place.first_column, g.reach_x);
  return place;
}

}  // namespace

void read_tile(const TileGrid& g, const float* channel, std::int64_t tile, float* to,
               std::int64_t step) {
  TilePlace place{};
  if (tile < g.tiles()) place = place_of(g, tile);
  for (std::int64_t y = 0; y < g.tile_height; ++y, to += g.tile_width * step) {
    const bool is_inside = y >= place.first_row && y < place.end_row;
    const std::int64_t begin = is_inside ? place.first_column : g.tile_width;
    const std::int64_t end = is_inside ? place.end_column : g.tile_width;
    const std::int64_t row = place.image * g.image_step + (place.y + y) * g.width + place.x;
    for (std::int64_t x = 0; x < begin; ++x) to[x * step] = 0;
    for (std::int64_t x = begin; x < end; ++x) to[x * step] = channel[row + x];
    for (std::int64_t x = end; x < g.tile_width; ++x) to[x * step] = 0;
  }
}

void write_tile(const TileGrid& g, const float* from, std::int64_t step, std::int64_t tile,
                float* channel) {
  if (tile >= g.tiles()) return;
  const TilePlace place = place_of(g, tile);
  for (std::int64_t y = place.first_row; y < place.end_row; ++y) {
    const std::int64_t row = place.image * g.image_step + (place.y + y) * g.width + place.x;
    for (std::int64_t x = place.first_column; x < place.end_column; ++x) {
      channel[row + x] = from[(y * g.tile_width + x) * step];
    }
  }
}

}  // namespace strata::cpu
