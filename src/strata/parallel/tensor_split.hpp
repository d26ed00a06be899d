// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/machine/cluster.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Tensor parallel training of transformers: products split by columns, then by rows, so that two
/// collectives per pair join the ranks (Shoeybi et al., Megatron-LM, 2019).
namespace strata {

/// A collective that a node of a split graph needs. With sequence parallelism an all-reduce is a
/// reduce-scatter and an all-gather in another place, with the same bytes.
struct NodeCollective {
  NodeId node = 0;
  bool is_backward = false;  ///< of the gradient of its input, after its backward step
  TensorId tensor = 0;       ///< whose bytes go around
  /// Per so many bytes of the tensor, one: losses exchange a few numbers per row.
  double share = 1;
};

/// A network as one of `ranks` sees it.
struct SplitGraph {
  Graph graph;
  std::int64_t ranks = 1;
  std::vector<bool> is_split;  ///< of each node: it computes a share; the others compute all
  std::vector<NodeCollective> collectives;
};

/// Splits every pair of products that allows it, with what lies between them (heads of attention,
/// activations), and the vocabulary of the embedding and of the output. Errors (unsupported) say
/// why nothing can be split: no such pair, heads that `ranks` does not divide.
SplitGraph split_tensors(const Graph& graph, std::int64_t ranks);

}  // namespace strata
