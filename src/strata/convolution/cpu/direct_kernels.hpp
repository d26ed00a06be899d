// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace strata::cpu {

/// The inner loop of the direct strategy, for all three passes: sums of products of numbers of a
/// source with blocks of factors, one channel per lane of a vector.
///   sums[i][c] (+)= Σ_r Σ_t source[positions[i] + r·row_step + offsets[t]] · factors[r][t][c]
/// for c < channel_block().
struct BlockSums {
  const float* source = nullptr;
  const std::int64_t* positions = nullptr;
  std::int64_t count = 0;  ///< of positions
  std::int64_t rows = 0;
  std::int64_t row_step = 0;
  const std::int64_t* offsets = nullptr;
  std::int64_t terms = 0;  ///< of a row: offsets
  const float* factors = nullptr;
  float* sums = nullptr;
  bool adds = false;  ///< to what the sums are; otherwise they are overwritten
};
void add_block(const BlockSums& sums);

/// Two vectors of channels; it depends on the CPU.
std::int64_t channel_block();

/// What the file of vector code offers for one kind of vector unit (per_target.hpp).
struct DirectKernels {
  void (*add_block)(const BlockSums&);
  std::int64_t (*channel_block)();
};

}  // namespace strata::cpu
