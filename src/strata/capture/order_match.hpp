// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Calls of modules whose names say nothing about a network, or too little, laid beside its nodes
/// in order.
namespace strata {

/// A call, or the kernels that ran on their own between two calls.
struct OrderedWork {
  std::string name;                            ///< for messages
  std::vector<std::set<std::string>> classes;  ///< of a call one set; else one per kernel
  bool is_call = false;
  std::vector<std::size_t> known = {};  ///< the nodes of a call whose name told them
};

struct OrderMatch {
  /// For each piece of work the nodes it makes, as indices into the nodes given: one of a call
  /// whose nodes are not known, any number (up to its kernels) of kernels on their own.
  std::vector<std::vector<std::size_t>> nodes;
  std::string refusal;  ///< empty: there is exactly one way
};

/// Whether kernels of these classes may be what the operator takes.
bool can_be(const Operator& op, const std::set<std::string>& classes);

/// Every call is one node, or those that are known, and every node is somewhere, in order, what
/// kernels do agreeing with the operator. Refused where there is no such way, with the first place
/// that does not fit, and where there are several.
OrderMatch match_by_order(const std::vector<OrderedWork>& work,
                          const std::vector<const Node*>& nodes);

}  // namespace strata
