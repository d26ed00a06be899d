// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/expert_split.hpp"

#include "strata/base/error.hpp"

#include <algorithm>

namespace strata {

void check_experts(const Graph& graph, const ExpertList& experts, std::int64_t ranks) {
  if (experts.layers.empty())
    fail(ErrorKind::unsupported,
         "ep={}: {} has no experts, layers in modules that are called experts.0, experts.1, …",
         ranks, graph.name);
  for (const ExpertLayer& layer : experts.layers) {
    if (layer.count % ranks != 0)
      fail(ErrorKind::unsupported, "ep={} does not divide the {} experts of a layer of {}", ranks,
           layer.count, graph.name);
    const auto is_missing = [](NodeId id) { return id == no_node; };
    if (std::any_of(layer.takes.begin(), layer.takes.end(), is_missing) ||
        std::any_of(layer.gives.begin(), layer.gives.end(), is_missing))
      fail(ErrorKind::unsupported,
           "ep={}: the experts of {} do not each gather their words and give a result", ranks,
           graph.name);
  }
}

bool stays(const ExpertList& experts, const ExpertPlace& place, std::int64_t ranks) {
  if (!place.is_expert()) return true;
  return place.expert < experts.layers[static_cast<std::size_t>(place.layer)].count / ranks;
}

}  // namespace strata
