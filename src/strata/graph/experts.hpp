// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <cstdint>
#include <vector>

/// Which layers of a network belong to which of its experts. They are known by the names of their
/// modules, `….experts.3.…`, as every library calls them.
namespace strata {

/// The experts of one layer of the network.
struct ExpertLayer {
  std::int64_t count = 0;
  std::vector<NodeId> takes;  ///< of each expert, the node that gathers its words
  std::vector<NodeId> gives;  ///< of each expert, the node whose result others read
};

/// Where a node belongs.
struct ExpertPlace {
  std::int32_t layer = -1;  ///< none: every rank computes it
  std::int32_t expert = 0;

  bool is_expert() const { return layer >= 0; }
};

struct ExpertList {
  std::vector<ExpertLayer> layers;
  std::vector<ExpertPlace> places;  ///< of every node
};

ExpertList find_experts(const Graph& graph);

}  // namespace strata
