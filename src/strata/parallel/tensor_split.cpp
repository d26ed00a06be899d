// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/tensor_split.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"
#include "strata/parallel/split_axes.hpp"
#include "strata/parallel/split_regions.hpp"

#include <utility>

namespace strata {
namespace {

constexpr TensorId no_tensor = ~TensorId{0};

std::int64_t share_of(std::int64_t count, std::int64_t ranks) {
  if (count % ranks == 0) return count / ranks;
  // A vocabulary is padded, as Megatron does it: products of odd sizes are slow.
  constexpr std::int64_t multiple = 128;
  const std::int64_t share = (count + ranks - 1) / ranks;
  return (share + multiple - 1) / multiple * multiple;
}

/// A product by columns or a table with a rank's share of its features or vocabulary.
Operator share_of_column(const Operator& op, std::int64_t ranks) {
  if (const auto* linear = std::get_if<Linear>(&op))
    return Linear{.features = share_of(linear->features, ranks), .bias = linear->bias};
  if (const auto* table = std::get_if<Embedding>(&op))
    return Embedding{.vocabulary = share_of(table->vocabulary, ranks), .width = table->width};
  return op;
}

/// Builds the graph of one rank, node by node.
class RankGraph {
 public:
  RankGraph(const Graph& whole, const SplitRegions& regions, std::int64_t ranks)
      : whole_(whole), regions_(regions), ranks_(ranks), builder_(whole.name) {
    builder_.symbols() = whole.symbols;
    of_.assign(whole.tensors.size(), no_tensor);
    builder_.reserve(whole.nodes.size(), whole.tensors.size());
  }

  SplitGraph build() && {
    for (const TensorId id : whole_.inputs) {
      const Tensor& input = whole_.tensors[id];
      of_[id] = builder_.input(input.name, input.type.shape, input.type.dtype);
    }
    for (NodeId id = 0; id < whole_.nodes.size(); ++id) add(id);
    for (const TensorId id : whole_.outputs) builder_.output(of_[id]);
    SplitGraph split;
    split.ranks = ranks_;
    split.graph = std::move(builder_).finish();
    split.graph.title = whole_.title;
    split.graph.source = whole_.source;
    split.graph.recurrent_order = whole_.recurrent_order;
    split.graph.warnings = whole_.warnings;
    for (const SplitRole role : regions_.roles) split.is_split.push_back(role != SplitRole::none);
    add_collectives(split);
    return split;
  }

 private:
  /// A tensor that some node reads; made here where no node makes it.
  TensorId tensor_of(TensorId id) {
    if (of_[id] != no_tensor) return of_[id];
    const Tensor& tensor = whole_.tensors[id];
    const Shape shape = share_of_axis(tensor.type.shape, regions_.axes[id], ranks_);
    of_[id] = builder_.stored(tensor.name, shape, tensor.kind, tensor.type.dtype);
    return of_[id];
  }

  Operator share_of_node(NodeId id) const {
    const Operator& op = whole_.nodes[id].op;
    switch (regions_.roles[id]) {
      case SplitRole::column: return share_of_column(op, ranks_);
      case SplitRole::inner: return share_of_inner(whole_, regions_.axes, id, ranks_);
      default: return op;
    }
  }

  void add(NodeId id) {
    const Node& node = whole_.nodes[id];
    std::vector<TensorId> data, own;
    for (std::size_t i = 0; i < node.first_own; ++i) data.push_back(tensor_of(node.inputs[i]));
    const Operator op = share_of_node(id);
    // Weights that another node has made already are shared with it: either none or all are given.
    bool shares = false;
    for (std::size_t i = node.first_own; i < node.inputs.size(); ++i)
      shares |= of_[node.inputs[i]] != no_tensor && !holds_share(id, node.inputs[i]);
    if (shares) {
      for (std::size_t i = node.first_own; i < node.inputs.size(); ++i)
        own.push_back(own_of(op, id, node.inputs[i]));
    }
    const NodeId made = builder_.add_node(node.name, op, data, own);
    Node& added = builder_.graph().nodes[made];
    added.block = node.block;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) of_[node.outputs[i]] = added.outputs[i];
    for (std::size_t i = node.first_own; i < node.inputs.size(); ++i) {
      const TensorId tensor = added.inputs[i];
      if (!holds_share(id, node.inputs[i])) of_[node.inputs[i]] = tensor;
      builder_.graph().tensors[tensor].type.dtype = whole_.tensors[node.inputs[i]].type.dtype;
    }
  }

  /// Of a bias that nodes put together from parts, a split layer holds its share of each part: one
  /// stored vector here.
  bool holds_share(NodeId node, TensorId own) const {
    return regions_.roles[node] != SplitRole::none &&
           whole_.tensors[own].kind == TensorKind::activation;
  }

  /// A bias beside a shared weight is made here, with a share of its features.
  TensorId own_of(const Operator& op, NodeId node, TensorId id) {
    const bool is_share = holds_share(node, id);
    if (of_[id] != no_tensor && !is_share) return of_[id];
    const Tensor& tensor = whole_.tensors[id];
    Shape shape = tensor.type.shape;
    if (const auto* linear = std::get_if<Linear>(&op); linear != nullptr && shape.size() == 1)
      shape = Shape{linear->features};
    const TensorKind kind = is_share ? TensorKind::parameter : tensor.kind;
    const TensorId stored = builder_.stored(tensor.name, shape, kind, tensor.type.dtype);
    if (!is_share) of_[id] = stored;
    return stored;
  }

  void add_collectives(SplitGraph& split) const {
    for (const SplitEdge& edge : regions_.edges) {
      split.collectives.push_back({.node = edge.node,
                                   .is_backward = edge.is_entry,
                                   .tensor = of_[edge.tensor],
                                   .share = edge.share});
    }
  }

  const Graph& whole_;
  const SplitRegions& regions_;
  std::int64_t ranks_;
  GraphBuilder builder_;
  std::vector<TensorId> of_;  // of each tensor of the whole graph
};

}  // namespace

SplitGraph split_tensors(const Graph& graph, std::int64_t ranks) {
  if (ranks == 1) {
    SplitGraph whole;
    whole.graph = graph;
    whole.is_split.assign(graph.nodes.size(), false);
    return whole;
  }
  const SplitRegions regions = find_split_regions(graph, ranks);
  if (!regions.reason.empty()) fail(ErrorKind::unsupported, "tp={}: {}", ranks, regions.reason);
  if (regions.pairs == 0)
    fail(ErrorKind::unsupported,
         "tp={}: {} has no pair of products with heads or point-wise layers between them, as "
         "transformers have",
         ranks, graph.name);
  return RankGraph(graph, regions, ranks).build();
}

}  // namespace strata
