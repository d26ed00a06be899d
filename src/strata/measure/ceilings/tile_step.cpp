// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/tile_step.hpp"

#include <algorithm>
#include <numeric>

namespace strata {

std::int64_t tile_step(std::int64_t tiles, std::int64_t blocks) {
  if (tiles == 1) return 0;
  std::int64_t step = std::max<std::int64_t>(1, blocks % tiles);
  while (std::gcd(step, tiles) != 1) step = step % tiles + 1;
  return step;
}

}  // namespace strata
