// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/graph.hpp"

namespace strata {

Graph::Graph() = default;
Graph::Graph(const Graph& other) = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(const Graph& other) = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
Graph::~Graph() = default;

}  // namespace strata
