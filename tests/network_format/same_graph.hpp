// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/importers/network/fields.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace strata {
namespace same_graph {

inline std::string words_of(const Tensor& tensor, const Symbols& symbols) {
  return fmt::format("{} {} {} kind {} by {}", tensor.name, text_of(tensor.type.shape, symbols),
                     name_of(tensor.type.dtype), static_cast<int>(tensor.kind), tensor.producer);
}

inline std::string words_of(const Node& node, const Symbols& symbols) {
  // All fields, not only unusual ones, are in the comparison: the usual ones are the same by their
  // absence.
  return fmt::format("{} [{}] {} {} ({}) -> ({}) own from {}", node.name, node.block,
                     name_of(node.op), network::written_fields(node.op, symbols, 1).dump(),
                     fmt::join(node.inputs, " "), fmt::join(node.outputs, " "), node.first_own);
}

inline std::string words_of(const Assumption& assumption, const Symbols& symbols) {
  return fmt::format("{} = {} at {}", symbols.text(assumption.left), symbols.text(assumption.right),
                     assumption.node);
}

inline std::string words_of(const Warning& warning, const Symbols&) {
  return fmt::format("{}: {}", name_of(warning.code), warning.message);
}

template <class Item>
std::string difference_in(const char* what, const std::vector<Item>& a, const Graph& of_a,
                          const std::vector<Item>& b, const Graph& of_b) {
  if (a.size() != b.size()) return fmt::format("{} {}, {}", what, a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string first = words_of(a[i], of_a.symbols);
    const std::string second = words_of(b[i], of_b.symbols);
    if (first != second) return fmt::format("{} {}: {} / {}", what, i, first, second);
  }
  return {};
}

inline std::string header_of(const Graph& graph) {
  std::string header = fmt::format("{} / {} / {} / {} / in {} / out {} /", graph.name, graph.title,
                                   graph.source, static_cast<int>(graph.recurrent_order),
                                   fmt::join(graph.inputs, " "), fmt::join(graph.outputs, " "));
  for (const auto& [name, default_value] : graph.symbols.parameters()) {
    header += fmt::format(" {}={}", name, default_value.value_or(-1));
  }
  return header;
}

}  // namespace same_graph

/// The first thing in which two graphs differ, in words; empty when they are the same: names,
/// order, numbers of tensors, types, operators with every attribute, blocks, inputs, outputs,
/// dimensions, assumptions and warnings. Sizes are compared as formulas, because two graphs may
/// number the same symbols differently.
inline std::string difference(const Graph& a, const Graph& b) {
  if (same_graph::header_of(a) != same_graph::header_of(b))
    return fmt::format("{} ≠ {}", same_graph::header_of(a), same_graph::header_of(b));
  std::string found = same_graph::difference_in("tensor", a.tensors, a, b.tensors, b);
  if (found.empty()) found = same_graph::difference_in("node", a.nodes, a, b.nodes, b);
  if (found.empty())
    found = same_graph::difference_in("assumption", a.assumptions, a, b.assumptions, b);
  if (found.empty()) found = same_graph::difference_in("warning", a.warnings, a, b.warnings, b);
  return found;
}

}  // namespace strata
