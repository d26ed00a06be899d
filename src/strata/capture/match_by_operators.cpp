// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/match_by_operators.hpp"

#include "strata/capture/operator_calls.hpp"
#include "strata/capture/operator_match.hpp"

#include <set>
#include <unordered_map>

namespace strata {
namespace {

std::vector<const Node*> nodes_of_match(const OperatorMatchInput& input) {
  std::vector<const Node*> nodes;
  for (const NodeId id : input.nodes) nodes.push_back(&input.model.graph().nodes[id]);
  return nodes;
}

/// The forward operators of a step with their kernels, in order.
struct ForwardOperators {
  std::vector<std::size_t> ranges;
  std::vector<CalledOperator> calls;
  std::vector<std::vector<std::size_t>> kernels;
};

ForwardOperators forward_operators(const OperatorMatchInput& input,
                                   const OperatorCalls& operators) {
  ForwardOperators forward;
  for (const WorkCall& call : input.work.forward) {
    for (const std::size_t kernel : call.kernels) {
      const std::size_t range = operators.of_kernel[kernel];
      if (range == no_index) continue;
      if (forward.ranges.empty() || forward.ranges.back() != range) {
        const RangeRecord& record = input.recording.ranges[range];
        const NameTable& names = input.recording.names;
        forward.ranges.push_back(range);
        forward.calls.push_back({std::string(operator_in_name(names.text(record.name))),
                                 std::string(names.text(record.inputs))});
        forward.kernels.emplace_back();
      }
      forward.kernels.back().push_back(kernel);
    }
  }
  return forward;
}

/// The node of a run; of one without, the nodes between those before and behind it that have no run
/// either, else the one before.
LayerGroup group_of_run(const OperatorMatchInput& input, const std::vector<std::size_t>& node,
                        std::size_t run) {
  if (node[run] != no_index) return {.nodes = {input.nodes[node[run]]}};
  std::size_t before = run;
  while (before > 0 && node[before] == no_index) --before;
  std::size_t behind = run;
  while (behind < node.size() && node[behind] == no_index) ++behind;
  const std::size_t first = node[before] == no_index ? 0 : node[before] + 1;
  const std::size_t last = behind < node.size() ? node[behind] : input.nodes.size();
  LayerGroup group;
  for (std::size_t i = first; i < last; ++i) {
    const NodeId id = input.nodes[i];
    group.nodes.push_back(id);
    group.module += (group.module.empty() ? "" : ", ") + input.model.graph().nodes[id].name;
  }
  if (group.nodes.empty() && node[before] != no_index) group.nodes = {input.nodes[node[before]]};
  return group;
}

}  // namespace

OperatorLayers layers_by_operators(const OperatorMatchInput& input) {
  OperatorLayers layers;
  const OperatorCalls operators = operator_calls(input.recording, input.origins);
  const ForwardOperators forward = forward_operators(input, operators);
  if (forward.calls.empty()) return layers;
  const OperatorMatch match =
      match_operators(forward.calls, nodes_of_match(input), input.model.bound);
  layers.reason = match.refusal;
  if (!match.refusal.empty()) return layers;
  std::unordered_map<std::size_t, NodeId> node_of_range;
  for (std::size_t i = 0; i < forward.calls.size(); ++i) {
    if (match.node[i] == no_index) continue;
    const NodeId node = input.nodes[match.node[i]];
    node_of_range[forward.ranges[i]] = node;
    ++layers.by_operator;
    for (const std::size_t kernel : forward.kernels[i])
      layers.kernels.push_back({kernel, {.nodes = {node}, .module = forward.calls[i].name}});
  }
  layers.operators = static_cast<std::int64_t>(forward.calls.size());
  layers.has_sizes = match.has_sizes;
  for (const WorkCall& call : input.work.backward) {
    for (const std::size_t kernel : call.kernels) {
      const auto found = node_of_range.find(operators.forward_of_kernel[kernel]);
      if (found != node_of_range.end())
        layers.kernels.push_back({kernel, {.is_backward = true, .nodes = {found->second}}});
    }
  }
  return layers;
}

OperatorLayers layers_by_kernels(const OperatorMatchInput& input) {
  OperatorLayers layers;
  std::vector<CalledOperator> runs;
  std::vector<std::pair<std::size_t, std::size_t>> kernels;  // and its run
  for (const WorkCall& call : input.work.forward) {
    for (const std::size_t kernel : call.kernels) {
      const NameId name = input.recording.kernels[kernel].name;
      const std::set<std::string> own = {input.classes[name].name};
      if (runs.empty() || runs.back().classes != own)
        runs.push_back({.name = "", .inputs = "", .classes = own});
      kernels.emplace_back(kernel, runs.size() - 1);
    }
  }
  const OperatorMatch match = match_operators(runs, nodes_of_match(input), input.model.bound);
  layers.reason = match.refusal;
  if (runs.empty() || !match.refusal.empty()) return layers;
  std::set<NodeId> found;
  for (const auto& [kernel, run] : kernels) {
    LayerGroup group = group_of_run(input, match.node, run);
    found.insert(group.nodes.begin(), group.nodes.end());
    if (!group.nodes.empty()) layers.kernels.push_back({kernel, std::move(group)});
  }
  layers.by_kernel = static_cast<std::int64_t>(found.size());
  return layers;
}

}  // namespace strata
