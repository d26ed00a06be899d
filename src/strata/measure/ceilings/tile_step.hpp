// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace strata {

/// How far each of `blocks` goes from tile to tile around `tiles`, so that it comes to every tile
/// before it comes to one again: near the number of blocks, and without a divisor in common with
/// the number of tiles. With the number of blocks itself a block would stay at the same few tiles
/// of a small set, and its own cache would answer for the shared one.
std::int64_t tile_step(std::int64_t tiles, std::int64_t blocks);

}  // namespace strata
