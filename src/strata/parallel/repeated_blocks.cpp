// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/repeated_blocks.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"
#include "strata/graph/experts.hpp"
#include "strata/parallel/working_memory.hpp"
#include "strata/training/order.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>
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
  if (before.size() != block.size()) return false;
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

constexpr std::size_t least_row = 4;

/// The longest row of equal blocks, of those that have a name.
std::vector<BlockRange> longest_row(const Graph& graph, const std::vector<BlockRange>& blocks) {
  std::pair<std::size_t, std::size_t> longest{0, 0};
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t end = first + 1;
    // The first block of a row may take its input from anywhere.
    while (end < blocks.size() && !graph.nodes[blocks[end].first].block.empty() &&
           is_repeated(graph, blocks[end - 1], blocks[end]))
      ++end;
    if (end - first > longest.second - longest.first) longest = {first, end};
    first = end;
  }
  return {blocks.begin() + static_cast<std::ptrdiff_t>(longest.first),
          blocks.begin() + static_cast<std::ptrdiff_t>(longest.second)};
}

/// Layers of a network without blocks that recur, as the longest row of equal groups of them.
/// Tensor parallelism splits products in pairs, so that a group is two periods.
std::vector<BlockRange> recurring_layers(const Graph& graph) {
  constexpr std::size_t most_layers = 16;  // of a period
  std::vector<BlockRange> longest;
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const Node& node) { return !node.block.empty(); }))
    return longest;
  const auto covered = [](const std::vector<BlockRange>& row) {
    return row.size() < least_row ? 0 : row.back().end - row.front().first;
  };
  const std::size_t nodes = graph.nodes.size();
  for (std::size_t period = 1; period <= most_layers; ++period) {
    for (std::size_t first = 0; first + 2 * period <= nodes;) {
      std::size_t end = first + period;  // of the layers that do what those a period before do
      while (end + period <= nodes && is_repeated(graph, {end - period, end}, {end, end + period}))
        end += period;
      std::vector<BlockRange> row;
      for (std::size_t at = first; at + 2 * period <= end; at += 2 * period)
        row.push_back({at, at + 2 * period});
      if (covered(row) > covered(longest)) longest = std::move(row);
      first = end > first + period ? end : first + 1;
    }
  }
  return longest;
}

/// Whether a single tensor goes on from a block to those after it, in the order in which layers
/// run: stages can be cut there (units.cpp).
bool can_be_cut_after(const Graph& graph, const BlockRange& block) {
  const std::vector<NodeId> order = execution_order(graph);
  std::vector<std::size_t> place(graph.nodes.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::size_t end = 0;
  for (std::size_t i = block.first; i < block.end; ++i) end = std::max(end, place[i] + 1);
  TensorId crossing = nowhere;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (place[id] < end) continue;
    for (const TensorId input : graph.nodes[id].inputs) {
      const NodeId producer = graph.tensors[input].producer;
      if (producer == no_node || place[producer] >= end || input == crossing) continue;
      if (crossing != nowhere) return false;
      crossing = input;
    }
  }
  return crossing != nowhere;
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
  std::vector<BlockRange> row = longest_row(graph, blocks_of(graph, has_experts));
  if (row.size() < least_row && !has_experts) row = recurring_layers(graph);
  if (row.size() < least_row) return std::nullopt;
  // Stay: the first two of the row, and its last.
  const BlockRange &kept = row[1], &last = row.back();
  if (!can_be_cut_after(graph, row[0]) || !can_be_cut_after(graph, kept)) return std::nullopt;
  ShortenedGraph result;
  result.left_out = static_cast<std::int64_t>(row.size() - 3);
  for (std::size_t i = kept.first; i < kept.end; ++i) {
    const Node& node = graph.nodes[i];
    result.repeated.push_back(node.block.empty() ? node.name : node.block);
    if (!node.block.empty()) break;  // the others are of the same block, or within it
  }
  result.graph = WithoutNodes(graph, kept.end, last.first, kept.size()).build();
  return result;
}

RankCosts lengthen(RankCosts costs, const ShortenedGraph& shortened) {
  const auto is_repeated = [&](const std::string& name) {
    return std::any_of(shortened.repeated.begin(), shortened.repeated.end(),
                       [&](const std::string& one) { return is_within(name, one); });
  };
  const auto first = std::find_if(costs.names.begin(), costs.names.end(), is_repeated);
  const auto end = std::find_if_not(first, costs.names.end(), is_repeated);
  const auto at = static_cast<std::size_t>(first - costs.names.begin());
  const auto size = static_cast<std::size_t>(end - first);
  STRATA_CHECK(size > 0, "the block that stands for others is a unit");
  const std::size_t more = static_cast<std::size_t>(shortened.left_out) * size;
  const auto lengthened = [&](auto& list) {
    std::remove_reference_t<decltype(list)> longer;
    longer.reserve(list.size() + more);
    for (std::size_t i = 0; i < list.size() + more; ++i) {
      const bool is_more = i >= at && i < at + more;
      longer.push_back(list[is_more ? at + (i - at) % size : i < at ? i : i - more]);
    }
    list = std::move(longer);
  };
  lengthened(costs.names);
  lengthened(costs.units);
  for (SharedWeight& shared : costs.shared) {
    for (std::size_t* unit : {&shared.first, &shared.second})
      if (*unit >= at + size) *unit += more;
  }
  return costs;
}

}  // namespace strata
