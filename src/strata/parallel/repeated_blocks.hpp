// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/rank_costs.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Networks of many devices repeat one block a hundred times. A search over strategies asks for the
/// costs of a network with few of them, and counts one block as often as it stands there.
namespace strata {

struct ShortenedGraph {
  Graph graph;
  /// What stands for those that are left out: a block, or the layers of a network without blocks.
  std::vector<std::string> repeated;
  std::int64_t left_out = 0;
};

/// The network without blocks that do the same as the ones before them: of a row of equal blocks
/// the first two and the last stay. In a network without such blocks, layers that recur count as
/// blocks. Nothing where fewer than four are equal, or where more than one tensor goes on from one
/// to the next: the network cannot be cut there.
std::optional<ShortenedGraph> shorten(const Graph& graph);

/// The costs of the whole network: the repeated unit as often as it was there. Memory that is of no
/// unit is that of the whole network already; the interval stays that of the short one.
RankCosts lengthen(RankCosts costs, const ShortenedGraph& shortened);

}  // namespace strata
