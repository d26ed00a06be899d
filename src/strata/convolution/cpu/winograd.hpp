// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/strategies.hpp"

/// The two halves of the Winograd strategy.
namespace strata::cpu {

/// Forward and input gradient: tiles are transformed, multiplied with transformed weights at each
/// of their (m+2)² positions, and transformed back, a block of tiles at a time.
std::unique_ptr<PreparedConvolution> prepare_winograd_sums(const ConvProblem& problem,
                                                           const SharedThreads& threads, int tile);
std::int64_t winograd_sums_bytes(const ConvProblem& problem, int threads, int tile);

/// Weight gradient: tiles of input and output gradient are multiplied and summed over all tiles.
std::unique_ptr<PreparedConvolution> prepare_winograd_products(const ConvProblem& problem,
                                                               const SharedThreads& threads,
                                                               int tile);
std::int64_t winograd_products_bytes(const ConvProblem& problem, int threads, int tile);

}  // namespace strata::cpu
