// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/units.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr std::size_t never = ~std::size_t{0};

/// The layers in the order in which forward runs them; views launch nothing and have no step.
std::vector<NodeId> forward_order(const Program& program) {
  const Graph& graph = *program.bound->graph;
  std::vector<bool> is_seen(graph.nodes.size(), false);
  std::vector<NodeId> order;
  for (const Step& step : program.steps) {
    if (step.node == no_node || step.pass != Pass::forward || step.is_recomputed) continue;
    if (is_seen[step.node]) continue;
    is_seen[step.node] = true;
    order.push_back(step.node);
  }
  return order;
}

/// Views take the place of what they view: each runs right after the last of its inputs.
std::vector<std::size_t> places_of(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<std::size_t> place(graph.nodes.size(), never);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (place[id] != never) continue;
    place[id] = 0;
    for (const TensorId input : graph.nodes[id].inputs) {
      const NodeId producer = graph.tensors[input].producer;
      if (producer != no_node && place[producer] != never)
        place[id] = std::max(place[id], place[producer]);
    }
  }
  return place;
}

/// Of each place, how many activations go from it or before it to a later one, and one of them.
struct Crossing {
  std::vector<std::int64_t> count;
  std::vector<TensorId> tensor;
};

Crossing crossing_of(const Graph& graph, const std::vector<std::size_t>& place,
                     std::size_t places) {
  std::vector<std::size_t> last(graph.tensors.size(), 0);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId input : graph.nodes[id].inputs)
      last[input] = std::max(last[input], place[id]);
  }
  std::vector<std::int64_t> change(places + 1, 0);
  Crossing crossing{std::vector<std::int64_t>(places, 0), std::vector<TensorId>(places, 0)};
  std::vector<std::pair<std::size_t, TensorId>> begins;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const NodeId producer = graph.tensors[id].producer;
    if (producer == no_node || last[id] <= place[producer]) continue;
    ++change[place[producer]];
    --change[last[id]];
    begins.emplace_back(place[producer], id);
  }
  std::int64_t count = 0;
  for (std::size_t i = 0; i < places; ++i) crossing.count[i] = count += change[i];
  // Where one tensor goes on, it is the one with the latest beginning that has not ended.
  std::sort(begins.begin(), begins.end());
  std::size_t next = 0;
  std::vector<TensorId> open;
  for (std::size_t i = 0; i < places; ++i) {
    while (next < begins.size() && begins[next].first <= i) open.push_back(begins[next++].second);
    std::erase_if(open, [&](TensorId id) { return last[id] <= i; });
    if (!open.empty()) crossing.tensor[i] = open.back();
  }
  return crossing;
}

}  // namespace

UnitList find_units(const Program& program) {
  const Graph& graph = *program.bound->graph;
  const std::vector<NodeId> order = forward_order(program);
  const std::vector<std::size_t> place = places_of(graph, order);
  const Crossing crossing = crossing_of(graph, place, order.size());
  std::size_t blocks = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    blocks += graph.nodes[order[i]].block != graph.nodes[order[i + 1]].block ? 1 : 0;
  const bool by_block = blocks >= 2;
  UnitList result;
  std::vector<std::uint32_t> of_place(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = graph.nodes[order[i]];
    if (result.units.empty() || result.units.back().has_output)
      result.units.push_back({.name = node.block.empty() ? node.name : node.block});
    of_place[i] = static_cast<std::uint32_t>(result.units.size() - 1);
    if (i + 1 == order.size() || crossing.count[i] != 1) continue;
    if (by_block && node.block == graph.nodes[order[i + 1]].block) continue;
    result.units.back().output = crossing.tensor[i];
    result.units.back().has_output = true;
  }
  // Of a network of views nothing runs; it is one unit all the same.
  if (result.units.empty())
    result.units.push_back({.name = graph.nodes.empty() ? "" : graph.nodes.front().name});
  result.units.back().has_output = false;
  result.of_node.assign(graph.nodes.size(), 0);
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    result.of_node[id] = order.empty() ? 0 : of_place[place[id]];
  return result;
}

}  // namespace strata
