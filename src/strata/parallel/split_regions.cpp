// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/split_regions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

/// Smaller tables are on every rank.
constexpr std::int64_t least_vocabulary = 8192;
/// A loss over a split vocabulary exchanges the largest logit, the sum and the target's logit of
/// each row, in fp32: so many features of 2 bytes.
constexpr double features_per_row = 6;

bool is_linear(const Node& node) { return std::holds_alternative<Linear>(node.op); }

bool is_last_axis(const Graph& graph, TensorId tensor, std::int64_t axis) {
  return axis == -1 ||
         axis + 1 == static_cast<std::int64_t>(graph.tensors[tensor].type.shape.size());
}

/// One region as it grows from a product.
class Region {
 public:
  Region(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, std::int64_t ranks)
      : graph_(graph), readers_(readers), ranks_(ranks) {}

  /// Whether everything that the product's output reaches can be split.
  bool grow(NodeId product, const std::vector<SplitRole>& taken) {
    taken_ = &taken;
    if (!add_column(product)) return false;
    while (!split_.empty()) {
      const TensorId tensor = split_.back();
      split_.pop_back();
      if (is_output(tensor)) return false;
      for (const NodeId reader : readers_[tensor]) {
        if (!follow(reader, tensor)) return false;
      }
    }
    return has_row_;
  }

  const std::vector<std::pair<NodeId, SplitRole>>& roles() const { return roles_; }
  const std::string& reason() const { return reason_; }

 private:
  bool is_output(TensorId tensor) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), tensor) != graph_.outputs.end();
  }
  SplitRole role_of(NodeId id) const {
    for (const auto& [node, role] : roles_) {
      if (node == id) return role;
    }
    return SplitRole::none;
  }
  bool refuse(NodeId id, std::string_view what, std::int64_t count) {
    if (reason_.empty())
      reason_ = fmt::format("{} does not divide the {} {} of {}", ranks_, count, what,
                            graph_.nodes[id].name);
    return false;
  }

  bool add(NodeId id, SplitRole role) {
    roles_.emplace_back(id, role);
    for (const TensorId output : graph_.nodes[id].outputs) split_.push_back(output);
    return true;
  }

  bool add_column(NodeId id) {
    const auto& linear = std::get<Linear>(graph_.nodes[id].op);
    if ((*taken_)[id] != SplitRole::none) return false;
    return linear.features % ranks_ == 0 && add(id, SplitRole::column);
  }

  /// A reader of a split tensor.
  bool follow(NodeId id, TensorId tensor) {
    const Node& node = graph_.nodes[id];
    if (role_of(id) != SplitRole::none) return true;
    if (is_linear(node)) {
      if (node.inputs[0] != tensor || (*taken_)[id] != SplitRole::none) return false;
      has_row_ = true;
      roles_.emplace_back(id, SplitRole::row);
      return true;
    }
    if (!works_by_feature(id)) return false;
    add(id, SplitRole::inner);
    for (std::size_t i = 0; i < node.first_own; ++i) {
      const bool is_mask = std::holds_alternative<Attention>(node.op) && i >= 3;
      if (!is_mask && !comes_split(node.inputs[i])) return false;
    }
    return true;
  }

  /// Whether the operator does the same for a share of the features or heads.
  bool works_by_feature(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (const auto* attention = std::get_if<Attention>(&node.op)) {
      if (attention->heads % ranks_ != 0) return refuse(id, "heads", attention->heads);
      if (attention->kv_heads % ranks_ != 0)
        return refuse(id, "key and value heads", attention->kv_heads);
      return true;
    }
    if (const auto* rotary = std::get_if<RotaryEmbedding>(&node.op))
      return rotary->heads % ranks_ == 0 || refuse(id, "heads", rotary->heads);
    if (const auto* cut = std::get_if<Split>(&node.op)) {
      return is_last_axis(graph_, node.inputs[0], cut->axis) &&
             std::all_of(cut->sizes.begin(), cut->sizes.end(),
                         [&](std::int64_t size) { return size % ranks_ == 0; });
    }
    if (const auto* unary = std::get_if<Unary>(&node.op)) return unary->kind != UnaryKind::prelu;
    return std::holds_alternative<Dropout>(node.op) || std::holds_alternative<Cast>(node.op) ||
           std::holds_alternative<Elementwise>(node.op);
  }

  /// Goes back to the product that makes the tensor, and splits it, too.
  bool comes_split(TensorId tensor) {
    const NodeId producer = graph_.tensors[tensor].producer;
    if (producer == no_node) return graph_.tensors[tensor].type.shape.empty();  // a single number
    if (role_of(producer) != SplitRole::none) return role_of(producer) != SplitRole::row;
    if (is_linear(graph_.nodes[producer])) return add_column(producer);
    if (!works_by_feature(producer)) return false;
    add(producer, SplitRole::inner);
    const Node& node = graph_.nodes[producer];
    for (std::size_t i = 0; i < node.first_own; ++i) {
      if (!comes_split(node.inputs[i])) return false;
    }
    return true;
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>>& readers_;
  std::int64_t ranks_;
  const std::vector<SplitRole>* taken_ = nullptr;
  std::vector<std::pair<NodeId, SplitRole>> roles_;
  std::vector<TensorId> split_;  // whose readers are still to be looked at
  bool has_row_ = false;
  std::string reason_;
};

std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.tensors.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (std::size_t i = 0; i < node.first_own; ++i) {
      auto& of = readers[node.inputs[i]];
      if (of.empty() || of.back() != id) of.push_back(id);
    }
  }
  return readers;
}

/// One sum of gradients per tensor that enters a region, at the product whose backward comes last;
/// one sum per product by rows.
void add_edges(SplitRegions& regions, const Graph& graph,
               const std::vector<std::pair<NodeId, SplitRole>>& roles) {
  std::vector<TensorId> entered;
  std::vector<std::pair<NodeId, SplitRole>> in_order = roles;
  std::sort(in_order.begin(), in_order.end());
  for (const auto& [id, role] : in_order) {
    const Node& node = graph.nodes[id];
    if (role == SplitRole::row) regions.edges.push_back({.node = id, .tensor = node.outputs[0]});
    if (role != SplitRole::column) continue;
    if (std::find(entered.begin(), entered.end(), node.inputs[0]) != entered.end()) continue;
    entered.push_back(node.inputs[0]);
    regions.edges.push_back({.node = id, .tensor = node.inputs[0], .is_entry = true});
  }
}

/// The output with its vocabulary, where the loss is a softmax over it; and embeddings of words.
void add_vocabulary(SplitRegions& regions, const Graph& graph) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (const auto* table = std::get_if<Embedding>(&node.op)) {
      if (table->vocabulary < least_vocabulary) continue;
      regions.roles[id] = SplitRole::column;
      regions.edges.push_back({.node = id, .tensor = node.outputs[0]});
      continue;
    }
    const auto* linear = std::get_if<Linear>(&node.op);
    if (linear == nullptr || linear->features < least_vocabulary || graph.outputs.size() != 1 ||
        graph.outputs[0] != node.outputs[0])
      continue;
    regions.roles[id] = SplitRole::column;
    regions.edges.push_back({.node = id, .tensor = node.inputs[0], .is_entry = true});
    const Dim width = graph.tensors[node.inputs[0]].type.shape.back();
    regions.edges.push_back({.node = id,
                             .tensor = node.inputs[0],
                             .share = features_per_row / static_cast<double>(width.factor)});
  }
}

}  // namespace

SplitRegions find_split_regions(const Graph& graph, std::int64_t ranks) {
  SplitRegions regions;
  regions.roles.assign(graph.nodes.size(), SplitRole::none);
  const auto readers = readers_of(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (!is_linear(graph.nodes[id]) || regions.roles[id] != SplitRole::none) continue;
    Region region(graph, readers, ranks);
    const bool can_split = region.grow(id, regions.roles);
    if (regions.reason.empty()) regions.reason = region.reason();
    if (!can_split) continue;
    for (const auto& [node, role] : region.roles()) regions.roles[node] = role;
    add_edges(regions, graph, region.roles());
    ++regions.pairs;
  }
  if (regions.pairs > 0) add_vocabulary(regions, graph);
  return regions;
}

}  // namespace strata
