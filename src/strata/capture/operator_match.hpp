// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Matches what a program called, in order, to the nodes of a network, in order: operators of
/// PyTorch by what they are called, or runs of kernels by what they do.
namespace strata {

/// An operator that was called, or kernels of one class behind each other.
struct CalledOperator {
  std::string name;    ///< "aten::conv2d"; of kernels: empty
  std::string inputs;  ///< sizes of its inputs, "32,3,8,8;64,3,3,3"; empty: not recorded
  std::set<std::string> classes = {};  ///< of its kernels
};

struct OperatorMatch {
  std::vector<std::size_t> node;  ///< per call: index into the nodes given; no_index: of none
  std::string refusal;            ///< empty: there is one best match
  bool has_sizes = false;         ///< sizes of inputs were recorded, and agree with the network
};

/// Nodes and calls pair up in order. Convolutions, products, normalisations, pools, attention,
/// recurrent layers and embeddings must all have their partner; additions, activations, copies and
/// the like may be without one (counters of batch normalisation, views). Of all such matches the
/// one that leaves fewest alone is taken; where there are several, only what must have a partner is
/// matched. A refusal says where it ends, or that sizes disagree and which batch fits.
OperatorMatch match_operators(const std::vector<CalledOperator>& calls,
                              const std::vector<const Node*>& nodes, const BoundGraph& bound);

}  // namespace strata
