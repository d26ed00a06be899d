// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace strata::cpu {

/// The weights of a block of result channels in the order in which inner loops meet them:
/// [source channel][tap][result channel of the block].
struct BlockWeights {
  const float* from = nullptr;   ///< of the first result channel
  std::int64_t step_result = 0;  ///< from one result channel to the next
  std::int64_t step_source = 0;
  std::int64_t sources = 1;
  std::int64_t taps = 1;
  std::int64_t block = 1;
  std::int64_t valid = 1;  ///< result channels of the block that exist; the others get zeros
};
void pack_block_weights(const BlockWeights& weights, float* to);

}  // namespace strata::cpu
