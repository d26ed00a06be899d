// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace strata {

/// A rule that every Graph keeps, about each of its nodes or each of its tensors. `broken_by` says
/// what is wrong with the one of that number, or nothing. All rules about a node are checked while
/// it is at hand: a long network is walked once, not once per rule.
struct GraphRule {
  enum class About : std::uint8_t { node, tensor };
  About about = About::node;
  std::string_view name;
  std::string (*broken_by)(const Graph& graph, std::uint32_t id) = nullptr;
};

/// Whether what belongs to the operator may be made by nodes before it. Networks standardise the
/// weights of convolutions, scale the gains of normalisations, and put biases together from parts;
/// everything else owns stored tensors alone.
bool takes_made_weights(const Operator& op);

/// The rules of the Graph, written once. What later stages may rely on is exactly this list.
std::span<const GraphRule> graph_rules();

/// Errors (internal) with the rule's name when one is broken: a builder or a pass has a bug.
void verify(const Graph& graph);

}  // namespace strata
