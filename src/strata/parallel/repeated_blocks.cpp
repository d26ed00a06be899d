// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/repeated_blocks.hpp"

#include "strata/graph/builder.hpp"
#include "strata/graph/experts.hpp"
#include "strata/parallel/working_memory.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace strata {
namespace {

constexpr TensorId nowhere = ~TensorId{0};

/// Nodes [first, end) of one block.
struct BlockRange {
  std::size_t first = 0, end = 0;
  std::size_t size() const { return end - first; }
};

/// Of nodes in a row: those of the same block, or with the blocks that lie in it.
std::vector<BlockRange> blocks_of(const Graph& graph, bool with_inner) {
  std::vector<BlockRange> blocks;
  std::string_view current;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::string_view block = graph.nodes[i].block;
    const bool goes_on = i > 0 && (with_inner ? is_within(block, current) : block == current);
    if (!goes_on) {
      blocks.push_back({i, i});
      current = block;
    }
    blocks.back().end = i + 1;
  }
  return blocks;
}

/// Whether each node of a block does what the node at the same place does in the block before, with
/// inputs from the same places: of its own block, of the block before, or from outside both; or
/// constants of the same shape.
bool is_repeated(const Graph& graph, const BlockRange& before, const BlockRange& block) {
  if (before.size() != block.size() || graph.nodes[block.first].block.empty()) return false;
  const auto place_of = [&](TensorId tensor) {
    return static_cast<std::int64_t>(graph.tensors[tensor].producer);
  };
  const auto are_equal_constants = [&](TensorId one, TensorId other) {
    const Tensor &a = graph.tensors[one], &b = graph.tensors[other];
    return a.kind == TensorKind::constant && b.kind == TensorKind::constant && a.type == b.type;
  };
  const auto distance = static_cast<std::int64_t>(block.first - before.first);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Node& a = graph.nodes[before.first + i];
    const Node& b = graph.nodes[block.first + i];
    if (!(a.op == b.op) || a.first_own != b.first_own || a.inputs.size() != b.inputs.size())
      return false;
    for (std::size_t k = 0; k < b.first_own; ++k) {
      if (a.inputs[k] == b.inputs[k] || are_equal_constants(a.inputs[k], b.inputs[k])) continue;
      const bool has_producers = graph.tensors[a.inputs[k]].producer != no_node &&
                                 graph.tensors[b.inputs[k]].producer != no_node;
      if (!has_producers || place_of(b.inputs[k]) - place_of(a.inputs[k]) != distance) return false;
      if (place_of(b.inputs[k]) < static_cast<std::int64_t>(before.first)) return false;
    }
  }
  return true;
}

/// The longest row of equal blocks: [first, end) in the list.
std::pair<std::size_t, std::size_t> longest_row(const Graph& graph,
                                                const std::vector<BlockRange>& blocks) {
  std::pair<std::size_t, std::size_t> longest{0, 0};
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t end = first + 1;
    // The first block of a row may take its input from anywhere.
    while (end < blocks.size() && is_repeated(graph, blocks[end - 1], blocks[end])) ++end;
    if (end - first > longest.second - longest.first) longest = {first, end};
    first = end;
  }
  return longest;
}

/// Copies a graph without the nodes [first, end), whose outputs are those `distance` nodes before.
class WithoutNodes {
 public:
  WithoutNodes(const Graph& graph, std::size_t first, std::size_t end, std::size_t distance)
      : graph_(graph), first_(first), end_(end), distance_(distance), builder_(graph.name) {
    builder_.symbols() = graph.symbols;
    of_.assign(graph.tensors.size(), nowhere);
  }

  Graph build() && {
    for (const TensorId id : graph_.inputs)
      of_[id] = builder_.input(graph_.tensors[id].name, graph_.tensors[id].type.shape,
                               graph_.tensors[id].type.dtype);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (i < first_ || i >= end_)
        add(graph_.nodes[i]);
      else
        stand_in(i);
    }
    for (const TensorId id : graph_.outputs) builder_.output(of_[id]);
    Graph copy = std::move(builder_).finish();
    copy.title = graph_.title;
    copy.source = graph_.source;
    copy.recurrent_order = graph_.recurrent_order;
    return copy;
  }

 private:
  void stand_in(std::size_t node) {
    const Node& left_out = graph_.nodes[node];
    const Node& same = graph_.nodes[node - distance_];
    for (std::size_t i = 0; i < left_out.outputs.size(); ++i)
      of_[left_out.outputs[i]] = of_[same.outputs[i]];
  }

  void add(const Node& node) {
    std::vector<TensorId> data, own;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      const Tensor& tensor = graph_.tensors[id];
      if (of_[id] == nowhere)
        of_[id] = builder_.stored(tensor.name, tensor.type.shape, tensor.kind, tensor.type.dtype);
      (i < node.first_own ? data : own).push_back(of_[id]);
    }
    const NodeId made = builder_.add_node(node.name, node.op, data, own);
    builder_.graph().nodes[made].block = node.block;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      of_[node.outputs[i]] = builder_.graph().nodes[made].outputs[i];
  }

  const Graph& graph_;
  std::size_t first_, end_, distance_;
  GraphBuilder builder_;
  std::vector<TensorId> of_;
};

}  // namespace

std::optional<ShortenedGraph> shorten(const Graph& graph) {
  // A layer may have blocks of its own. Equal ones are its experts, which are not left out.
  const bool has_experts = !find_experts(graph).layers.empty();
  const std::vector<BlockRange> blocks = blocks_of(graph, has_experts);
  const auto [first, end] = longest_row(graph, blocks);
  if (end - first < 4) return std::nullopt;
  // Stay: the first two of the row, and its last.
  const BlockRange& kept = blocks[first + 1];
  ShortenedGraph result;
  result.left_out = static_cast<std::int64_t>(end - first - 3);
  result.repeated = graph.nodes[kept.first].block;
  result.graph = WithoutNodes(graph, kept.end, blocks[end - 1].first, kept.size()).build();
  return result;
}

RankCosts lengthen(RankCosts costs, const ShortenedGraph& shortened) {
  const auto is_repeated = [&](const std::string& name) {
    return is_within(name, shortened.repeated);
  };
  const auto first = std::find_if(costs.names.begin(), costs.names.end(), is_repeated);
  const auto end = std::find_if_not(first, costs.names.end(), is_repeated);
  const std::ptrdiff_t at = first - costs.names.begin(), size = end - first;
  const std::vector<std::string> names(first, end);
  const std::vector<UnitCost> units(costs.units.begin() + at, costs.units.begin() + at + size);
  for (std::int64_t i = 0; i < shortened.left_out; ++i) {
    costs.names.insert(costs.names.begin() + at, names.begin(), names.end());
    costs.units.insert(costs.units.begin() + at, units.begin(), units.end());
  }
  const auto more = static_cast<std::size_t>(shortened.left_out * size);
  for (SharedWeight& shared : costs.shared) {
    for (std::size_t* unit : {&shared.first, &shared.second})
      if (*unit >= static_cast<std::size_t>(at + size)) *unit += more;
  }
  return costs;
}

}  // namespace strata
