// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/walk_step.hpp"

#include <algorithm>
#include <numeric>

namespace strata {

std::int64_t walk_step(std::int64_t tiles, std::int64_t walkers) {
  if (tiles == 1) return 0;
  std::int64_t step = std::max<std::int64_t>(1, walkers % tiles);
  while (std::gcd(step, tiles) != 1) step = step % tiles + 1;
  return step;
}

}  // namespace strata
