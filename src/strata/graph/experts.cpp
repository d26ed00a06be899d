// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/experts.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace strata {
namespace {

struct ExpertName {
  std::string_view layer;  ///< "model.layers.0.block_sparse_moe."
  std::int64_t number = 0;
};

/// "model.layers.0.block_sparse_moe.experts.3.w1" is of expert 3.
std::optional<ExpertName> expert_name(std::string_view name) {
  constexpr std::string_view word = "experts.";
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    if (at > 0 && name[at - 1] != '.' && name[at - 1] != '/') continue;
    const char* begin = name.data() + at + word.size();
    const char* end = name.data() + name.size();
    ExpertName found{.layer = name.substr(0, at)};
    const auto [after, problem] = std::from_chars(begin, end, found.number);
    const bool is_whole =
        problem == std::errc() && after != end && (*after == '.' || *after == '/');
    if (is_whole && found.number >= 0) return found;
  }
  return std::nullopt;
}

bool is_same(const ExpertPlace& a, const ExpertPlace& b) {
  return a.layer == b.layer && a.expert == b.expert;
}

/// Which nodes stand at the borders of the experts.
void find_borders(ExpertList& list, const Graph& graph) {
  for (ExpertLayer& layer : list.layers) {
    layer.takes.assign(static_cast<std::size_t>(layer.count), no_node);
    layer.gives = layer.takes;
  }
  const auto at = [&](std::vector<NodeId> ExpertLayer::*nodes,
                      const ExpertPlace& place) -> NodeId& {
    return (list.layers[static_cast<std::size_t>(place.layer)].*
            nodes)[static_cast<std::size_t>(place.expert)];
  };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const ExpertPlace& place = list.places[id];
    if (place.is_expert() && std::holds_alternative<Gather>(graph.nodes[id].op)) {
      NodeId& takes = at(&ExpertLayer::takes, place);
      if (takes == no_node) takes = id;
    }
    for (const TensorId input : graph.nodes[id].inputs) {
      const NodeId producer = graph.tensors[input].producer;
      if (producer == no_node || !list.places[producer].is_expert()) continue;
      if (!is_same(list.places[producer], place))
        at(&ExpertLayer::gives, list.places[producer]) = producer;
    }
  }
}

}  // namespace

ExpertList find_experts(const Graph& graph) {
  ExpertList list;
  list.places.resize(graph.nodes.size());
  // Counted as they appear: their numbers are a file's, and may be anything.
  std::map<std::string_view, std::int32_t> layers;
  std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> experts;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const auto name = expert_name(graph.nodes[id].name);
    if (!name) continue;
    const std::int32_t layer =
        layers.emplace(name->layer, static_cast<std::int32_t>(layers.size())).first->second;
    if (list.layers.size() < layers.size()) list.layers.emplace_back();
    std::int64_t& count = list.layers[static_cast<std::size_t>(layer)].count;
    const auto [expert, is_new] =
        experts.emplace(std::pair(layer, name->number), static_cast<std::int32_t>(count));
    if (is_new) ++count;
    list.places[id] = {layer, expert->second};
  }
  find_borders(list, graph);
  return list;
}

}  // namespace strata
