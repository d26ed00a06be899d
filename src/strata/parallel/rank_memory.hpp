// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/stages.hpp"

#include <cstdint>
#include <vector>

/// What a rank must hold.
namespace strata {

struct RankMemory {
  std::int64_t parameters_bytes = 0;
  std::int64_t gradients_bytes = 0;
  std::int64_t states_bytes = 0;       ///< of the optimizer, with master weights
  std::int64_t activations_bytes = 0;  ///< kept for backward, and what steps make for one another
  std::int64_t buffers_bytes = 0;      ///< of collectives; inputs and tables

  std::int64_t total_bytes() const {
    return parameters_bytes + gradients_bytes + states_bytes + activations_bytes + buffers_bytes;
  }
};

/// Of each stage.
std::vector<RankMemory> rank_memory(const RankCosts& costs, const std::vector<LayerChunk>& chunks,
                                    const Strategy& strategy);

}  // namespace strata
