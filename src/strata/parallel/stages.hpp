// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/rank_costs.hpp"

#include <cstdint>
#include <vector>

/// Which units each stage of a pipeline has.
namespace strata {

/// Units [first, end) and what one micro-batch of them costs.
struct LayerChunk {
  std::size_t first = 0, end = 0;
  Section forward, backward;
  double weight_gradients_s = 0, recompute_s = 0;
  LayerTraffic forward_traffic, backward_traffic;
  std::int64_t parameters = 0, tensors = 0;
  std::int64_t weight_bytes = 0, gradient_bytes = 0, state_bytes = 0, saved_bytes = 0;
  WeightCost experts;               ///< of those, weights of experts that are spread over ranks
  std::int64_t boundary_bytes = 0;  ///< that go on to the next chunk
};

/// LayerChunk c belongs to stage c mod pp. There are pp·v of them, in the order of the network.
/// Errors (unsupported): the network has fewer units.
std::vector<LayerChunk> make_chunks(const RankCosts& costs, const Strategy& strategy);

/// Where to cut a row of times into so many parts that the longest part is as short as can be: the
/// end of each.
std::vector<std::size_t> balanced_cuts(const std::vector<double>& times, std::size_t parts);

}  // namespace strata
