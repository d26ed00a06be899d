// SPDX-License-Identifier: Apache-2.0
#include "strata/training/step_names.hpp"

#include "strata/graph/operator_names.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

/// Nothing for a step of no layer.
const Node* node_of(const Program& program, StepId id) {
  const NodeId node = program.steps[id].node;
  return node == no_node || program.bound == nullptr ? nullptr : &program.bound->graph->nodes[node];
}

}  // namespace

std::string layer_of(const Program& program, StepId id) {
  if (const Node* node = node_of(program, id)) return node->name;
  std::string name = name_of(program, id);
  const std::string ending = fmt::format(" {}", name_of(program.steps[id].pass));
  if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

std::string operator_of(const Program& program, StepId id) {
  const Step& step = program.steps[id];
  if (step.is_gradient_sum) return "gradient_sum";
  if (step.pass == Pass::update) return "update";
  const Node* const node = node_of(program, id);
  return node == nullptr ? layer_of(program, id)
                         : std::string(operator_word(*program.bound->graph, *node));
}

std::string pass_of(const Program& program, StepId id) {
  const Step& step = program.steps[id];
  return step.is_recomputed ? "recompute" : std::string(name_of(step.pass));
}

std::string block_of(const Program& program, StepId id) {
  const Node* const node = node_of(program, id);
  return node == nullptr || node->block.empty() ? layer_of(program, id) : node->block;
}

}  // namespace strata
