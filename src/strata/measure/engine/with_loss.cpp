// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/builder.hpp"
#include "strata/measure/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace strata {
namespace {

bool makes_loss(const Graph& graph, TensorId tensor) {
  const NodeId producer = graph.tensors[tensor].producer;
  if (producer == no_node) return false;
  const Operator& op = graph.nodes[producer].op;
  return std::holds_alternative<SoftmaxCrossEntropy>(op) ||
         std::holds_alternative<SquaredError>(op);
}

std::string free_name(const Graph& graph, const std::string& wanted) {
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [&](const Node& node) { return node.name == name; }) ||
           std::any_of(graph.tensors.begin(), graph.tensors.end(),
                       [&](const Tensor& tensor) { return tensor.name == name; });
  };
  std::string name = wanted;
  for (int i = 2; is_taken(name); ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

// Classes are channels where there is space behind them, and the last axis otherwise, as a Program
// has it.
std::size_t class_axis(const Shape& shape) { return shape.size() >= 4 ? 1 : shape.size() - 1; }

TensorId add_softmax_loss(GraphBuilder& builder, TensorId output) {
  const Shape shape = builder.type(output).shape;
  const std::size_t axis = class_axis(shape);
  Shape targets;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis) targets.push_back(shape[i]);
  }
  const TensorId target =
      builder.input(free_name(builder.graph(), "targets"), targets, DType::int64);
  return builder.add(free_name(builder.graph(), "loss"),
                     SoftmaxCrossEntropy{.axis = static_cast<std::int64_t>(axis)},
                     {output, target});
}

TensorId add_squared_error(GraphBuilder& builder, TensorId output) {
  const TensorType type = builder.type(output);
  const TensorId target =
      builder.input(free_name(builder.graph(), "targets"), type.shape, type.dtype);
  return builder.add(free_name(builder.graph(), "loss"), SquaredError{}, {output, target});
}

}  // namespace

Graph with_loss(const Graph& graph, Loss loss) {
  std::vector<TensorId> outputs;
  for (const TensorId output : graph.outputs) {
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end())
      outputs.push_back(output);
  }
  if (loss == Loss::none || (loss == Loss::automatic && outputs.size() != 1)) return graph;
  const std::vector<bool> wants_gradient = tensors_with_gradient(graph);

  GraphBuilder builder(graph.name);
  builder.graph() = graph;
  std::vector<TensorId> ends;
  for (const TensorId output : outputs) {
    const bool gets_loss = wants_gradient[output] && !makes_loss(graph, output) &&
                           !graph.tensors[output].type.shape.empty();
    if (!gets_loss) {
      ends.push_back(output);
    } else {
      ends.push_back(loss == Loss::squared_error ? add_squared_error(builder, output)
                                                 : add_softmax_loss(builder, output));
    }
  }
  builder.graph().outputs = std::move(ends);
  return std::move(builder).finish();
}

}  // namespace strata
