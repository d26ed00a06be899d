// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/walk_step.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

TEST(WalkStep, a_walker_comes_to_every_tile_before_it_comes_to_one_again) {
  for (std::int64_t tiles = 1; tiles <= 130; ++tiles) {
    for (const std::int64_t walkers : {1, 2, 5, 64, 128, 130, 131, 528, 4096}) {
      const std::int64_t step = walk_step(tiles, walkers);
      ASSERT_TRUE(step >= 0 && step < tiles) << tiles << " tiles, " << walkers << " walkers";
      std::vector<bool> seen(static_cast<std::size_t>(tiles));
      for (std::int64_t pass = 0, tile = walkers % tiles; pass < tiles;
           ++pass, tile = (tile + step) % tiles) {
        ASSERT_FALSE(seen[static_cast<std::size_t>(tile)]) << tiles << " " << walkers;
        seen[static_cast<std::size_t>(tile)] = true;
      }
    }
  }
}

// Together the walkers read a large set front to back, as memory likes it.
TEST(WalkStep, is_near_the_number_of_walkers_when_there_are_many_tiles) {
  for (const std::int64_t tiles : {1 << 18, 3 * 5 * 7 * 11 * 1000, 65537})
    EXPECT_NEAR(static_cast<double>(walk_step(tiles, 528)), 528, 16);
}

}  // namespace
}  // namespace strata
