// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// Minimum-cost flows on the path of step boundaries, by successive shortest paths. Costs are small
/// whole numbers (bytes saved per byte kept), so paths of one length are found and filled together:
/// the number of rounds is that of different lengths, not that of paths.
namespace strata {

using FlowNode = std::uint32_t;

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / 4;

/// Flow that found its way at one length: `amount` units, each of them at `cost`.
struct FlowPiece {
  std::int64_t amount = 0;
  std::int64_t cost = 0;
};

class FlowNetwork {
 public:
  explicit FlowNetwork(FlowNode nodes) : nodes_(nodes) {}

  FlowNode nodes() const { return nodes_; }
  FlowNode add_node() { return nodes_++; }
  /// At least `least` and at most `most` units may pass.
  void add_arc(FlowNode from, FlowNode to, std::int64_t most, std::int64_t cost,
               std::int64_t least = 0);

  /// Sends up to `limit` units from the first node to the last at the least cost, cheapest first;
  /// stops where a unit would cost `stop_cost` or more. Every arc must lead to a higher node and
  /// have no least. Pieces come in the order of their cost, which only rises.
  std::vector<FlowPiece> cheapest_first(std::int64_t limit, std::int64_t stop_cost) const;

  /// The least cost of sending exactly `amount` units from the first node to the last. An error
  /// (internal) when the arcs do not let it through.
  std::int64_t least_cost(std::int64_t amount) const;

 private:
  struct Arc {
    FlowNode from = 0;
    FlowNode to = 0;
    std::int64_t most = 0;
    std::int64_t least = 0;
    std::int64_t cost = 0;
  };
  FlowNode nodes_;
  std::vector<Arc> arcs_;
  friend class FlowSearch;
};

}  // namespace strata
