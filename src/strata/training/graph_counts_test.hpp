// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/cost.hpp"
#include "strata/training/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

/// What a program must come to, counted on the graph and not on steps.
namespace strata::graph_counts {

inline bool is_loss(const Operator& op) {
  return std::holds_alternative<SoftmaxCrossEntropy>(op) ||
         std::holds_alternative<SquaredError>(op);
}

/// The arithmetic that the graph asks for: its nodes, the loss and the updates; once per
/// micro-batch, save the last.
inline std::int64_t flop_of_graph(const BoundGraph& bound, const TrainingOptions& options) {
  const Graph& graph = *bound.graph;
  std::int64_t flop = 0;
  for (const NodeCost& cost : costs_of(bound, options.inference ? Mode::inference : Mode::training))
    flop += cost.forward.flop + cost.backward_input.flop + cost.backward_weight.flop;
  if (options.inference) return flop;
  for (const TensorId output : graph.outputs) {
    const BoundTensor& y = bound.tensors[output];
    const NodeId producer = graph.tensors[output].producer;
    if (options.loss == Loss::none || !y.wants_gradient || is_loss(graph.nodes[producer].op))
      continue;
    if (options.loss == Loss::squared_error) flop += 5 * y.elements + 3;
    if (options.loss == Loss::automatic && graph.outputs.size() == 1) {
      const std::int64_t classes = y.axes() >= 4 ? y[1] : y[y.axes() - 1];
      flop += 6 * y.elements + 4 * (y.elements / classes) + 2;
    }
  }
  flop *= options.micro_batches;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter && bound.tensors[id].wants_gradient)
      flop +=
          update_cost(options.optimizer, bound.tensors[id].elements, bound.tensors[id].dtype).flop;
  }
  return flop;
}

/// Numbers added where gradients meet: one less than contributions, for each tensor that is no
/// parameter. Aliases hand on to the tensor whose memory they are.
inline std::int64_t sums_of_graph(const BoundGraph& bound) {
  const Graph& graph = *bound.graph;
  const std::vector<NodeCost> costs = costs_of(bound);
  std::vector<TensorId> root(graph.tensors.size());
  std::iota(root.begin(), root.end(), TensorId{0});
  std::map<TensorId, std::int64_t> contributions;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const PassCost& forward = costs[id].forward;
    const bool is_alias =
        forward.accesses.size() == 1 && forward.accesses[0].mode == AccessMode::alias;
    if (is_alias) root[node.outputs[0]] = root[node.inputs[0]];
    if (is_alias) continue;
    for (const PassCost* pass : {&costs[id].backward_input, &costs[id].backward_weight}) {
      for (const Access& access : pass->accesses) {
        if (access.operand == Operand::input_gradient)
          ++contributions[root[node.inputs[access.index]]];
      }
    }
  }
  for (const TensorId output : graph.outputs) {
    if (bound.tensors[output].wants_gradient) ++contributions[root[output]];
  }
  std::int64_t flop = 0;
  for (const auto& [tensor, count] : contributions) {
    if (graph.tensors[tensor].kind != TensorKind::parameter)
      flop += (count - 1) * bound.tensors[tensor].elements;
  }
  return flop;
}

/// Numbers added inside recurrent layers, cell by cell: every product (one per gate where they are
/// not fused) that reads x, a state of the layer below or the state before contributes to its
/// gradient, and a GRU's blend of old and new contributes to that of the state before. Networks
/// whose first states are given are not among those counted here.
inline std::int64_t sums_in_cells(const BoundGraph& bound) {
  std::int64_t flop = 0;
  for (const Node& node : bound.graph->nodes) {
    const auto* op = std::get_if<Recurrent>(&node.op);
    const auto wants = [&](TensorId id) { return bound.tensors[id].wants_gradient; };
    if (!op || std::none_of(node.outputs.begin(), node.outputs.end(), wants)) continue;
    const BoundTensor& x = bound.tensors[node.inputs[0]];
    const std::int64_t gates = op->cell == CellKind::lstm ? 4 : op->cell == CellKind::gru ? 3 : 1;
    const std::int64_t products = op->fused_gates ? 1 : gates;
    const std::int64_t directions = op->bidirectional ? 2 : 1;
    const std::int64_t width = op->projection > 0 ? op->projection : op->hidden;
    const std::int64_t of_before = products + (op->cell == CellKind::gru ? 1 : 0);
    if (wants(node.inputs[0])) flop += (products * directions - 1) * x.elements;
    flop += (op->layers - 1) * directions * (products * directions - 1) * x[0] * x[1] * width;
    flop += op->layers * directions * (of_before - 1) * x[0] * (x[1] - 1) * width;
  }
  return flop;
}

inline void expect_sound(const Program& program) {
  EXPECT_EQ(problems_of(program), std::vector<std::string>{});
  std::vector<bool> is_read(program.values.size(), false);
  for (const Use& use : program.uses) {
    if (use.reads) is_read[use.value] = true;
  }
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    EXPECT_GE(value.row_bytes, 1) << value_name(program, id);
    // Nobody makes a gradient in vain, or saves what nobody reads.
    const bool is_needed = value.kind == ValueKind::gradient ||
                           value.kind == ValueKind::weight_gradient ||
                           value.kind == ValueKind::saved;
    EXPECT_TRUE(!is_needed || is_read[id] || value.is_result) << value_name(program, id);
  }
}

inline void expect_work_of_graph(const Program& program, const BoundGraph& bound,
                                 const TrainingOptions& options) {
  std::int64_t flop = 0, sums = 0;
  for (const Step& step : program.steps) (step.is_gradient_sum ? sums : flop) += step.flop;
  EXPECT_EQ(flop, flop_of_graph(bound, options));
  const std::int64_t in_cells = options.unroll_recurrent ? sums_in_cells(bound) : 0;
  EXPECT_EQ(sums,
            options.inference ? 0 : (sums_of_graph(bound) + in_cells) * options.micro_batches);
}

}  // namespace strata::graph_counts
