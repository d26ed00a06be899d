// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/context_split.hpp"
#include "strata/parallel/expert_split.hpp"
#include "strata/parallel/strategy.hpp"
#include "strata/parallel/tensor_split.hpp"

#include <cstdint>
#include <vector>

/// What one rank does of a micro-batch: each layer has its own share of words and positions, so
/// that its costs come from the network bound with other sizes.
namespace strata {

/// Which costs of a node a rank has.
struct NodeView {
  std::uint32_t run = 0;   ///< of RankViews::runs
  double share = 1;        ///< of the node's work there
  std::int64_t parts = 1;  ///< in so many calls
  bool is_absent = false;  ///< an expert of another rank
};

struct RankViews {
  std::vector<Binding> runs;      ///< sizes of the network; the first is that of most nodes
  std::vector<NodeView> nodes;    ///< by node
  std::vector<NodeId> attention;  ///< for which the ranks of a sequence exchange
  ExpertList experts;             ///< where they are spread over ranks

  const NodeView& of(NodeId node) const { return node == no_node ? everything_ : nodes[node]; }

 private:
  NodeView everything_;  // of the loss
};

/// `binding` gives every size, with the samples of one micro-batch and the whole sequence. Errors
/// (unsupported) say why the network cannot be shared so.
RankViews rank_views(const SplitGraph& split, const Binding& binding, const Strategy& strategy);

}  // namespace strata
