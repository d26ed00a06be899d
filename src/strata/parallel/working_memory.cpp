// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/working_memory.hpp"

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

/// By node: whether it is in the block that stands for others.
std::vector<bool> nodes_in(const UnitList& units, const RepeatedBlock& repeated) {
  std::vector<bool> is_in(units.of_node.size(), false);
  if (repeated.left_out == 0) return is_in;
  for (std::size_t node = 0; node < is_in.size(); ++node) {
    const std::string& unit = units.units[units.of_node[node]].name;
    is_in[node] = std::any_of(repeated.names.begin(), repeated.names.end(),
                              [&](const std::string& name) { return is_within(unit, name); });
  }
  return is_in;
}

/// The steps from the first to the last one of the block, of forward and backward: [first, end).
struct StepRange {
  std::size_t first = 0, end = 0;
};

StepRange steps_of(const Program& program, const std::vector<bool>& is_in) {
  StepRange range;
  for (std::size_t id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    if (step.node == no_node || step.pass == Pass::update || !is_in[step.node]) continue;
    if (range.end == 0) range.first = id;
    range.end = id + 1;
  }
  return range;
}

}  // namespace

bool is_within(std::string_view block, std::string_view outer) {
  if (block == outer) return true;
  return !outer.empty() && block.starts_with(outer) &&
         (block[outer.size()] == '.' || block[outer.size()] == '/');
}

std::int64_t working_bytes(const Program& program, const UnitList& units,
                           const ActivationMemory& memory, const RepeatedBlock& repeated) {
  const std::vector<bool> is_in = nodes_in(units, repeated);
  const StepRange of_block = steps_of(program, is_in);
  std::int64_t saved_by_others = 0;
  for (std::size_t node = 0; node < is_in.size(); ++node) {
    if (is_in[node]) saved_by_others += repeated.left_out * memory.saved_by_node[node];
  }
  std::int64_t most = 0;
  for (std::size_t step = 0; step < memory.at_steps.size(); ++step) {
    const bool is_between = step >= of_block.first && step < of_block.end;
    most = std::max(most, memory.at_steps[step] + (is_between ? saved_by_others : 0));
  }
  const std::int64_t saved =
      std::accumulate(memory.saved_by_node.begin(), memory.saved_by_node.end(),
                      memory.saved_by_loss + saved_by_others);
  return std::max<std::int64_t>(0, most - saved);
}

std::int64_t other_given_bytes(const Program& program, const UnitList& units,
                               const std::vector<bool>& is_of_unit, const RepeatedBlock& repeated) {
  const std::vector<bool> is_in = nodes_in(units, repeated);
  const Graph& graph = *program.bound->graph;
  std::vector<bool> is_read_inside(graph.tensors.size(), false);
  std::vector<bool> is_read_outside(graph.tensors.size(), false);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId input : graph.nodes[id].inputs)
      (is_in[id] ? is_read_inside : is_read_outside)[input] = true;
  }
  std::int64_t bytes = 0;
  for (const Value& value : program.values) {
    if (!value.is_given || is_of_unit[value.tensor]) continue;
    const bool is_of_block = is_read_inside[value.tensor] && !is_read_outside[value.tensor];
    bytes += value.bytes * (is_of_block ? 1 + repeated.left_out : 1);
  }
  return bytes;
}

}  // namespace strata
