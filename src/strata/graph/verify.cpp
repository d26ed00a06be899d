// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/verify.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace strata {
namespace {

std::string ids_in_range(const Graph& graph) {
  const auto is_tensor = [&graph](TensorId id) { return id < graph.tensors.size(); };
  for (const Node& node : graph.nodes) {
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_tensor) ||
        !std::all_of(node.outputs.begin(), node.outputs.end(), is_tensor)) {
      return fmt::format("node '{}' names a tensor that does not exist", node.name);
    }
  }
  if (!std::all_of(graph.inputs.begin(), graph.inputs.end(), is_tensor) ||
      !std::all_of(graph.outputs.begin(), graph.outputs.end(), is_tensor)) {
    return "an input or output of the graph does not exist";
  }
  return {};
}

std::string inputs_come_first(const Graph& graph) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId input : graph.nodes[id].inputs) {
      const NodeId producer = graph.tensors[input].producer;
      if (producer != no_node && producer >= id) {
        return fmt::format("node '{}' reads '{}', which is made later", graph.nodes[id].name,
                           graph.tensors[input].name);
      }
    }
  }
  return {};
}

std::string one_producer(const Graph& graph) {
  std::vector<bool> is_made(graph.tensors.size(), false);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].outputs.empty())
      return fmt::format("node '{}' makes nothing", graph.nodes[id].name);
    for (const TensorId output : graph.nodes[id].outputs) {
      if (is_made[output] || graph.tensors[output].producer != id) {
        return fmt::format("'{}' is not made by node '{}' alone", graph.tensors[output].name,
                           graph.nodes[id].name);
      }
      is_made[output] = true;
    }
  }
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if ((tensor.kind == TensorKind::activation) != is_made[id]) {
      return fmt::format("'{}' is {} by a node", tensor.name,
                         is_made[id] ? "stored, yet made" : "not made");
    }
  }
  return {};
}

std::string own_tensors_are_stored(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.first_own > node.inputs.size())
      return fmt::format("node '{}' has no such own tensors", node.name);
    for (std::size_t i = node.first_own; i < node.inputs.size(); ++i) {
      if (graph.tensors[node.inputs[i]].kind == TensorKind::activation) {
        return fmt::format("node '{}' owns '{}', which a node makes", node.name,
                           graph.tensors[node.inputs[i]].name);
      }
    }
  }
  return {};
}

std::string extents_are_positive(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors) {
    for (const Dim extent : tensor.type.shape) {
      if (extent.is_number() && extent.factor < 1) {
        return fmt::format("'{}' is {}", tensor.name, text_of(tensor.type.shape, graph.symbols));
      }
    }
  }
  return {};
}

// By sorting hashes: a set of all names would take longer than everything else in this file
// together.
std::string node_names_differ(const Graph& graph) {
  std::vector<std::pair<std::size_t, NodeId>> hashes;
  hashes.reserve(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].name.empty()) return "a node has no name";
    hashes.emplace_back(std::hash<std::string>()(graph.nodes[id].name), id);
  }
  std::sort(hashes.begin(), hashes.end());
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    // Equal names have equal hashes; of several with one hash, neighbours are compared pair by
    // pair.
    for (std::size_t j = i; j > 0 && hashes[j - 1].first == hashes[i].first; --j) {
      const std::string& name = graph.nodes[hashes[i].second].name;
      if (name == graph.nodes[hashes[j - 1].second].name)
        return fmt::format("two nodes are named '{}'", name);
    }
  }
  return {};
}

// Rules after the first may rely on those before them.
constexpr std::array<GraphRule, 6> rules = {{
    {"every tensor that is named exists", ids_in_range},
    {"every input is made by an earlier node or stored", inputs_come_first},
    {"every activation is made by exactly one node, everything else by none", one_producer},
    {"what belongs to an operator is stored, not made", own_tensors_are_stored},
    {"extents are at least 1", extents_are_positive},
    {"node names differ and are not empty", node_names_differ},
}};

}  // namespace

std::span<const GraphRule> graph_rules() { return rules; }

void verify(const Graph& graph) {
  for (const GraphRule& rule : rules) {
    if (const std::string what = rule.broken_by(graph); !what.empty()) {
      fail(ErrorKind::internal, "graph '{}' breaks the rule \"{}\": {}", graph.name, rule.name,
           what);
    }
  }
}

}  // namespace strata
