// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Which parts of a network can be split over ranks: from products by columns, through layers that
/// work on each feature or head by itself, to products by rows.
namespace strata {

enum class SplitRole : std::uint8_t {
  none,    ///< computes everything on every rank
  column,  ///< a product whose features are split, an embedding or output with its vocabulary
  inner,   ///< works on a share of the features or heads
  row,     ///< a product whose inputs are split; its sum is over ranks
};

/// Where a region meets what every rank has whole.
struct SplitEdge {
  NodeId node = 0;
  TensorId tensor = 0;    ///< of the whole graph; summed over ranks
  bool is_entry = false;  ///< the gradient of `tensor` is summed; else the tensor itself
  double share = 1;       ///< of the tensor's bytes
};

struct SplitRegions {
  std::vector<SplitRole> roles;  ///< by node
  std::vector<int> axes;         ///< by tensor: along which it is split inside a region
  std::vector<SplitEdge> edges;
  std::int64_t pairs = 0;  ///< regions with a product by columns and one by rows
  std::string reason;      ///< why a block cannot be split that should be; empty: none
};

SplitRegions find_split_regions(const Graph& graph, std::int64_t ranks);

}  // namespace strata
