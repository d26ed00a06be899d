// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/split_regions.hpp"

#include "strata/graph/bind.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/parallel/split_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace strata {
namespace {

/// Smaller tables are on every rank.
constexpr std::int64_t least_vocabulary = 8192;
/// A loss over a split vocabulary exchanges the largest logit, the sum and the target's logit of
/// each row, in fp32: so many features of 2 bytes.
constexpr double features_per_row = 6;

bool is_linear(const Node& node) { return std::holds_alternative<Linear>(node.op); }

/// The output over all words, which is split by them.
bool is_vocabulary(const Graph& graph, const Node& node) {
  const auto* linear = std::get_if<Linear>(&node.op);
  return linear != nullptr && linear->features >= least_vocabulary && graph.outputs.size() == 1 &&
         graph.outputs[0] == node.outputs[0];
}

/// Attention, also where it is written out: a product with what a softmax made.
bool is_attention(const Graph& graph, const Node& node) {
  if (std::holds_alternative<Attention>(node.op)) return true;
  if (!std::holds_alternative<MatMul>(node.op)) return false;
  constexpr int most_between = 4;  // dropout, a cast, views
  NodeId before = graph.tensors[node.inputs[0]].producer;
  for (int i = 0; i < most_between && before != no_node; ++i) {
    const Node& made = graph.nodes[before];
    if (std::holds_alternative<Softmax>(made.op)) return true;
    if (is_linear(made) || made.inputs.empty()) return false;
    before = graph.tensors[made.inputs[0]].producer;
  }
  return false;
}

/// One region as it grows from a product.
class Region {
 public:
  /// Notes in `axes` what it splits.
  Region(const SplitFacts& facts, const std::vector<SplitRole>& taken, std::vector<int>& axes)
      : facts_(facts), graph_(facts.graph), taken_(taken), axes_(axes) {}

  /// Whether everything that the product's output reaches can be split; if not, nothing is.
  bool grow(NodeId product) {
    const bool can_split = try_to_grow(product);
    if (!can_split) {
      for (const TensorId tensor : marked_) axes_[tensor] = no_axis;
    }
    return can_split;
  }

  const std::vector<std::pair<NodeId, SplitRole>>& roles() const { return roles_; }
  const std::string& reason() const { return reason_; }
  NodeId stopped_by() const { return stopped_by_; }
  const std::vector<NodeId>& reached() const { return reached_; }

 private:
  bool try_to_grow(NodeId product) {
    if (!add_column(product)) return false;
    while (!split_.empty()) {
      const TensorId tensor = split_.back();
      split_.pop_back();
      const NodeId producer = graph_.tensors[tensor].producer;
      if (is_output(tensor)) return stop(producer);
      for (const NodeId reader : facts_.readers[tensor]) {
        if (!follow(reader, tensor)) return stop(reader);
      }
    }
    // A layer that still waits has an input that every rank has whole.
    for (const NodeId id : waiting_) {
      if (role_of(id) == SplitRole::none) return stop(whole_input_of(id));
    }
    return has_row_;
  }

  /// What makes an input that every rank has whole; the layer itself where no other does.
  NodeId whole_input_of(NodeId id) const {
    const Node& node = graph_.nodes[id];
    for (std::size_t i = 0; i < node.first_own; ++i) {
      const NodeId producer = graph_.tensors[node.inputs[i]].producer;
      if (axes_[node.inputs[i]] == no_axis && producer != no_node) return producer;
    }
    return id;
  }
  bool is_output(TensorId tensor) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), tensor) != graph_.outputs.end();
  }
  SplitRole role_of(NodeId id) const {
    const auto found = role_.find(id);
    return found == role_.end() ? SplitRole::none : found->second;
  }
  void take(NodeId id, SplitRole role) {
    role_.emplace(id, role);
    roles_.emplace_back(id, role);
  }
  bool stop(NodeId id) {
    if (stopped_by_ == no_node) stopped_by_ = id;
    return false;
  }

  bool add(NodeId id, SplitRole role, int axis) {
    take(id, role);
    for (const TensorId output : graph_.nodes[id].outputs) mark(output, axis);
    return true;
  }
  void mark(TensorId tensor, int axis) {
    axes_[tensor] = axis;
    marked_.push_back(tensor);
    split_.push_back(tensor);
  }

  bool add_column(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (taken_[id] != SplitRole::none) return false;
    const auto last = static_cast<int>(graph_.tensors[node.outputs[0]].type.shape.size()) - 1;
    return std::get<Linear>(node.op).features % facts_.ranks == 0 &&
           add(id, SplitRole::column, last);
  }

  /// A reader of a split tensor.
  bool follow(NodeId id, TensorId tensor) {
    const Node& node = graph_.nodes[id];
    if (role_of(id) != SplitRole::none) return true;
    reached_.push_back(id);
    if (is_linear(node)) {
      const auto last = static_cast<int>(graph_.tensors[tensor].type.shape.size()) - 1;
      if (node.inputs[0] != tensor || axes_[tensor] != last || taken_[id] != SplitRole::none ||
          is_vocabulary(graph_, node))
        return false;
      has_row_ = true;
      take(id, SplitRole::row);
      return true;
    }
    SplitStep step = split_step(facts_, axes_, id);
    if (step.kind == SplitStep::Kind::waits) {
      waiting_.push_back(id);
      for (std::size_t i = 0; i < node.first_own; ++i) {
        if (axes_[node.inputs[i]] == no_axis && !split_origin(node.inputs[i])) return false;
      }
      step = split_step(facts_, axes_, id);  // a stored vector is split at once
    }
    if (step.kind == SplitStep::Kind::waits) return true;
    if (reason_.empty()) reason_ = step.reason;
    return step.kind == SplitStep::Kind::split && add(id, SplitRole::inner, step.axis);
  }

  /// Goes back to the products that make a tensor, and splits them, too; false: one cannot be.
  bool split_origin(TensorId tensor) {
    std::vector<TensorId> next = {tensor};
    while (!next.empty()) {
      const TensorId id = next.back();
      next.pop_back();
      const NodeId producer = graph_.tensors[id].producer;
      if (axes_[id] != no_axis) continue;
      if (producer == no_node) {
        if (!split_stored(id)) return false;
        continue;
      }
      const Node& node = graph_.nodes[producer];
      if (role_of(producer) == SplitRole::row) return false;
      if (is_linear(node)) {
        if (!add_column(producer)) return false;
        continue;
      }
      if (is_table_of_heads(node)) {
        const auto last = static_cast<int>(graph_.tensors[id].type.shape.size()) - 1;
        add(producer, SplitRole::inner, last);
        continue;
      }
      const bool is_between = facts_.has_gradient[id] && stands_between_products(node.op);
      if (!is_between || !visited_.insert(producer).second) continue;
      next.insert(next.end(), node.inputs.begin(), node.inputs.begin() + node.first_own);
    }
    return true;
  }

  /// Scores of distances are looked up for every head: a rank has the columns of its heads.
  bool is_table_of_heads(const Node& node) const {
    const auto* table = std::get_if<Embedding>(&node.op);
    return table != nullptr && table->vocabulary < least_vocabulary &&
           table->width % facts_.ranks == 0 && facts_.uses[node.inputs[node.first_own]] == 1;
  }

  /// A bias that is added in a layer of its own has a share like the features that it is added to.
  bool split_stored(TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    const Shape& shape = tensor.type.shape;
    const bool is_vector = shape.size() == 1 && shape[0].is_number() && !shape[0].is(1);
    if (tensor.kind != TensorKind::parameter || !is_vector) return true;
    if (shape[0].factor % facts_.ranks != 0) return false;
    mark(id, 0);
    return true;
  }

  const SplitFacts& facts_;
  const Graph& graph_;
  const std::vector<SplitRole>& taken_;
  std::vector<int>& axes_;
  std::vector<TensorId> marked_;
  std::vector<std::pair<NodeId, SplitRole>> roles_;
  std::unordered_map<NodeId, SplitRole> role_;  // the same
  std::vector<TensorId> split_;                 // whose readers are still to be looked at
  std::vector<NodeId> waiting_, reached_;
  std::set<NodeId> visited_;  // on the way back
  bool has_row_ = false;
  NodeId stopped_by_ = no_node;
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
  std::set<TensorId> entered;
  std::vector<std::pair<NodeId, SplitRole>> in_order = roles;
  std::sort(in_order.begin(), in_order.end());
  for (const auto& [id, role] : in_order) {
    const Node& node = graph.nodes[id];
    if (role == SplitRole::row) regions.edges.push_back({.node = id, .tensor = node.outputs[0]});
    if (role != SplitRole::column) continue;
    if (!entered.insert(node.inputs[0]).second) continue;
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
    if (!is_vocabulary(graph, node)) continue;
    regions.roles[id] = SplitRole::column;
    regions.edges.push_back({.node = id, .tensor = node.inputs[0], .is_entry = true});
    const Dim width = graph.tensors[node.inputs[0]].type.shape.back();
    regions.edges.push_back({.node = id,
                             .tensor = node.inputs[0],
                             .share = features_per_row / static_cast<double>(width.factor)});
  }
}

/// Attention that stays whole while other blocks are split would be wrong without a word: it says
/// which layer is in its way.
void refuse_whole_attention(SplitRegions& regions, const Graph& graph,
                            const std::map<NodeId, NodeId>& stops) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (!is_attention(graph, graph.nodes[id]) || regions.roles[id] != SplitRole::none) continue;
    const std::string& name = graph.nodes[id].name;
    const auto stop = stops.find(id);
    if (regions.pairs == 0 && stop == stops.end())
      continue;  // attention of another kind of network
    if (stop == stops.end() || stop->second == no_node || stop->second == id) {
      regions.reason = fmt::format(
          "the heads of {} cannot be split: not all of its inputs are made by products of weights",
          name);
    } else {
      const Node& layer = graph.nodes[stop->second];
      regions.reason = fmt::format(
          "the heads of {} cannot be split: {} ({}) needs all of what is split, or joins it with "
          "what every rank has whole",
          name, layer.name, name_of(layer.op));
    }
    return;
  }
}

}  // namespace

SplitRegions find_split_regions(const Graph& graph, std::int64_t ranks) {
  SplitRegions regions;
  regions.roles.assign(graph.nodes.size(), SplitRole::none);
  regions.axes.assign(graph.tensors.size(), no_axis);
  const auto readers = readers_of(graph);
  const std::vector<bool> has_gradient = tensors_with_gradient(graph);
  std::vector<std::uint32_t> uses(graph.tensors.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) ++uses[input];
  }
  const SplitFacts facts{graph, readers, uses, has_gradient, ranks};
  std::map<NodeId, NodeId> stops;  // of attention: what was in the way
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (!is_linear(graph.nodes[id]) || regions.roles[id] != SplitRole::none) continue;
    Region region(facts, regions.roles, regions.axes);
    const bool can_split = region.grow(id);
    if (regions.reason.empty()) regions.reason = region.reason();
    if (!can_split) {
      for (const NodeId reached : region.reached()) stops.emplace(reached, region.stopped_by());
      continue;
    }
    for (const auto& [node, role] : region.roles()) regions.roles[node] = role;
    add_edges(regions, graph, region.roles());
    ++regions.pairs;
  }
  if (regions.reason.empty()) refuse_whole_attention(regions, graph, stops);
  if (regions.pairs > 0) add_vocabulary(regions, graph);
  return regions;
}

}  // namespace strata
