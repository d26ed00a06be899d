// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

namespace strata {

/// A network of the zoo at sizes that tests can afford.
inline BoundGraph bound_small(const Graph& graph) {
  Binding sizes;
  for (const Parameter& parameter : graph.symbols.parameters()) {
    if (parameter.name == "batch") sizes["batch"] = 2;
    if (parameter.name == "seq") sizes["seq"] = 8;
  }
  return bind_graph(graph, sizes);
}

}  // namespace strata
