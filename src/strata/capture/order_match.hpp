// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Matches calls of modules to the nodes of a network by their order, where the names of the calls
/// say too little.
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
  std::string refusal;  ///< empty: there is exactly one match
};

/// Whether kernels of these classes may be what the operator takes.
bool can_be(const Operator& op, const std::set<std::string>& classes);

/// Each call gets one node, or its known nodes; every node is matched, in order; the classes of the
/// kernels agree with the operator. A refusal says that there is no such match, with the first call
/// that does not fit, or that there are several.
OrderMatch match_by_order(const std::vector<OrderedWork>& work,
                          const std::vector<const Node*>& nodes);

}  // namespace strata
