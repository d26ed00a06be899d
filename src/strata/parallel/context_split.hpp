// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/parallel/strategy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Context parallel training: every rank has a share of each sequence. For attention, keys and
/// values go round a ring of ranks, so that each rank's queries meet all of them, or each rank gets
/// all positions of a share of the heads.
namespace strata {

struct ContextSplit {
  std::string length;             ///< the parameter that is the length of the sequence
  std::vector<NodeId> attention;  ///< over the sequence, for which the ranks exchange
  /// Of each node: its work is positions times positions (attention and what makes its scores), so
  /// that a share is of the whole.
  std::vector<bool> has_pairs;
};

/// The parameter of a network that is the length of its sequences; nothing: it is fixed.
std::optional<std::string> sequence_length(const Graph& graph, const Binding& binding);

/// `binding` gives every size. Errors (unsupported) say why the network's sequences cannot be
/// shared: a fixed length, one that the ranks do not divide, no attention, a layer besides
/// attention that mixes positions; heads that the ranks do not divide, where they are exchanged.
ContextSplit split_context(const Graph& graph, const Binding& binding, std::int64_t ranks,
                           ContextExchange exchange = ContextExchange::ring);

}  // namespace strata
