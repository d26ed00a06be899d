// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <vector>

namespace strata {

/// The order in which the nodes run: depth-first from the inputs, one input after the other,
/// waiting at a join until all its inputs are there (Wang et al., "SuperNeurons", 2018). What
/// depends on stored tensors alone runs right before it is needed.
std::vector<NodeId> execution_order(const Graph& graph);

}  // namespace strata
