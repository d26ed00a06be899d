// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/network_points.hpp"

#include "strata/convolution/lab/node_convolution.hpp"

#include <map>

namespace strata {
namespace {

/// How often an iteration runs each pass of the shape.
std::array<std::int64_t, 3> passes_of(const Node& node, const BoundGraph& bound,
                                      const NodeConvolution& convolution) {
  std::array<std::int64_t, 3> counts{};
  const auto add = [&](ConvPass of_node, bool is_run) {
    if (is_run) ++counts[static_cast<std::size_t>(convolution.pass_of(of_node))];
  };
  add(ConvPass::forward, true);
  add(ConvPass::input_gradient, bound.tensors[node.inputs[0]].wants_gradient);
  add(ConvPass::weight_gradient, bound.tensors[node.inputs[node.first_own]].wants_gradient);
  return counts;
}

}  // namespace

NetworkConvolutions network_convolutions(const BoundGraph& bound) {
  NetworkConvolutions found;
  found.series.name = bound.graph->name;
  std::map<std::string, std::size_t> known;
  for (const Node& node : bound.graph->nodes) {
    const auto convolution = convolution_of(bound, node);
    if (!convolution) continue;
    if (convolution->refusal) {
      found.left_out.push_back({node.name, *convolution->refusal});
      continue;
    }
    const auto counts = passes_of(node, bound, *convolution);
    const auto [place, is_new] =
        known.try_emplace(to_text(convolution->shape), found.series.points.size());
    if (is_new) {
      found.series.points.push_back({node.name, std::nullopt, convolution->shape, counts});
      continue;
    }
    ConvPoint& point = found.series.points[place->second];
    for (std::size_t pass = 0; pass < counts.size(); ++pass) point.counts[pass] += counts[pass];
  }
  return found;
}

}  // namespace strata
