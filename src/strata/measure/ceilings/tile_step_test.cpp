// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/tile_step.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

TEST(TileStep, a_block_comes_to_every_tile_before_it_comes_to_one_again) {
  for (std::int64_t tiles = 1; tiles <= 130; ++tiles) {
    for (const std::int64_t blocks : {1, 2, 5, 64, 128, 130, 131, 528, 4096}) {
      const std::int64_t step = tile_step(tiles, blocks);
      ASSERT_TRUE(step >= 0 && step < tiles) << tiles << " tiles, " << blocks << " blocks";
      std::vector<bool> seen(static_cast<std::size_t>(tiles));
      for (std::int64_t pass = 0, tile = blocks % tiles; pass < tiles;
           ++pass, tile = (tile + step) % tiles) {
        ASSERT_FALSE(seen[static_cast<std::size_t>(tile)]) << tiles << " " << blocks;
        seen[static_cast<std::size_t>(tile)] = true;
      }
    }
  }
}

// Together the blocks read a large set front to back, as memory likes it.
TEST(TileStep, is_near_the_number_of_blocks_when_there_are_many_tiles) {
  for (const std::int64_t tiles : {1 << 18, 3 * 5 * 7 * 11 * 1000, 65537})
    EXPECT_NEAR(static_cast<double>(tile_step(tiles, 528)), 528, 16);
}

}  // namespace
}  // namespace strata
