// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <span>
#include <string>
#include <string_view>

namespace strata {

/// A rule that every Graph keeps. `broken_by` says what is wrong, or nothing.
struct GraphRule {
  std::string_view name;
  std::string (*broken_by)(const Graph& graph);
};

/// The rules of the Graph, written once. What later stages may rely on is exactly this list.
std::span<const GraphRule> graph_rules();

/// Errors (internal) with the rule's name when one is broken: a builder or a pass has a bug.
void verify(const Graph& graph);

}  // namespace strata
