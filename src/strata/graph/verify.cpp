// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/verify.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <array>

namespace strata {
namespace {

using About = GraphRule::About;

std::string tensors_exist(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const auto exists = [&graph](TensorId tensor) { return tensor < graph.tensors.size(); };
  if (std::all_of(node.inputs.begin(), node.inputs.end(), exists) &&
      std::all_of(node.outputs.begin(), node.outputs.end(), exists)) {
    return {};
  }
  return fmt::format("node '{}' names a tensor that does not exist", node.name);
}

std::string inputs_come_first(const Graph& graph, NodeId id) {
  for (const TensorId input : graph.nodes[id].inputs) {
    const NodeId producer = graph.tensors[input].producer;
    if (producer == no_node || producer < id) continue;
    return fmt::format("node '{}' reads '{}', which is made later", graph.nodes[id].name,
                       graph.tensors[input].name);
  }
  return {};
}

std::string makes_its_outputs(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.outputs.empty()) return fmt::format("node '{}' makes nothing", node.name);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Tensor& output = graph.tensors[node.outputs[i]];
    const bool is_repeated = std::find(node.outputs.begin(), node.outputs.begin() + i,
                                       node.outputs[i]) != node.outputs.begin() + i;
    if (output.kind != TensorKind::activation || output.producer != id || is_repeated) {
      return fmt::format("'{}' is not made by node '{}' alone", output.name, node.name);
    }
  }
  return {};
}

std::string own_tensors_are_stored(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.first_own > node.inputs.size()) {
    return fmt::format("node '{}' has no such own tensors", node.name);
  }
  if (takes_made_weights(node.op)) return {};
  for (std::size_t i = node.first_own; i < node.inputs.size(); ++i) {
    const Tensor& own = graph.tensors[node.inputs[i]];
    if (own.kind != TensorKind::activation) continue;
    return fmt::format("node '{}' owns '{}', which a node makes", node.name, own.name);
  }
  return {};
}

std::string has_a_name(const Graph& graph, NodeId id) {
  return graph.nodes[id].name.empty() ? fmt::format("node {} has none", id) : std::string();
}

std::string is_made_or_stored(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const bool is_made = tensor.producer < graph.nodes.size();
  if (is_made == (tensor.kind == TensorKind::activation)) return {};
  return fmt::format("'{}' is {} by a node", tensor.name,
                     is_made ? "stored, yet made" : "not made");
}

std::string extents_are_positive(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  for (const Dim extent : tensor.type.shape) {
    if (extent.is_number() && extent.factor < 1) {
      return fmt::format("'{}' is {}", tensor.name, text_of(tensor.type.shape, graph.symbols));
    }
  }
  return {};
}

// A rule may rely on those before it.
constexpr std::array<GraphRule, 7> rules = {{
    {About::node, "every tensor that is named exists", tensors_exist},
    {About::node, "every input is made by an earlier node or stored", inputs_come_first},
    {About::node, "every output is an activation made by this node alone", makes_its_outputs},
    {About::node, "what belongs to an operator is stored, or it takes what is made",
     own_tensors_are_stored},
    {About::node, "every node has a name", has_a_name},
    {About::tensor, "activations are made by a node, everything else is not", is_made_or_stored},
    {About::tensor, "extents are at least 1", extents_are_positive},
}};

void check(const Graph& graph, About about, std::size_t count) {
  for (std::uint32_t id = 0; id < count; ++id) {
    for (const GraphRule& rule : rules) {
      if (rule.about != about) continue;
      const std::string what = rule.broken_by(graph, id);
      if (what.empty()) continue;
      fail(ErrorKind::internal, "graph '{}' breaks the rule \"{}\": {}", graph.name, rule.name,
           what);
    }
  }
}

}  // namespace

bool takes_made_weights(const Operator& op) {
  return std::holds_alternative<Convolution>(op) || std::holds_alternative<Linear>(op) ||
         std::holds_alternative<BatchNorm>(op) || std::holds_alternative<GroupNorm>(op);
}

std::span<const GraphRule> graph_rules() { return rules; }

void verify(const Graph& graph) {
  check(graph, About::node, graph.nodes.size());
  check(graph, About::tensor, graph.tensors.size());
}

}  // namespace strata
