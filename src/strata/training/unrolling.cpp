// SPDX-License-Identifier: Apache-2.0
#include "strata/training/unrolling.hpp"

#include "strata/cost/cost.hpp"

namespace strata {
namespace {

// A node whose forward only gives memory another name: its output is its first input.
std::vector<TensorId> roots_of(const BoundGraph& bound, const std::vector<NodeId>& order,
                               Mode mode) {
  std::vector<TensorId> root(bound.tensors.size());
  for (TensorId id = 0; id < root.size(); ++id) root[id] = id;
  for (const NodeId id : order) {
    const Node& node = bound.graph->nodes[id];
    for (const Access& access : cost_of(bound, id, mode).forward.accesses) {
      if (access.mode == AccessMode::alias) root[node.outputs[access.index]] = root[node.inputs[0]];
    }
  }
  return root;
}

}  // namespace

Unrolling unroll(const BoundGraph& bound, const std::vector<NodeId>& order, bool,
                 bool is_training) {
  Unrolling unrolling;
  unrolling.root = roots_of(bound, order, is_training ? Mode::training : Mode::inference);
  for (const NodeId node : order) unrolling.instances.push_back({node, 0});
  return unrolling;
}

bool reads_own_time(const BoundGraph&, const Unrolling&, NodeId, std::size_t) { return false; }

}  // namespace strata
