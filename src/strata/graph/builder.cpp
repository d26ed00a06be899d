// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/builder.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/verify.hpp"

#include <utility>

namespace strata {

GraphBuilder::GraphBuilder(std::string name) : sheet_(graph_.symbols) {
  graph_.name = std::move(name);
}

void GraphBuilder::reserve(std::size_t nodes, std::size_t tensors) {
  graph_.nodes.reserve(nodes);
  graph_.tensors.reserve(tensors);
  names_.reserve(nodes);
}

std::int64_t GraphBuilder::extent(TensorId tensor, std::int64_t axis) const {
  const Shape& shape = type(tensor).shape;
  const Dim dim = shape[normal_axis(axis, shape.size())];
  if (!dim.is_number()) {
    fail(ErrorKind::unsupported, "'{}': axis {} must be a number, got {}",
         graph_.tensors[tensor].name, axis, graph_.symbols.text(dim));
  }
  return dim.factor;
}

TensorId GraphBuilder::input(std::string_view name, const Shape& shape, DType dtype) {
  const TensorId id = add_tensor(std::string(name), {shape, dtype}, TensorKind::input, no_node);
  graph_.inputs.push_back(id);
  return id;
}

TensorId GraphBuilder::stored(std::string_view name, const Shape& shape, TensorKind kind,
                              DType dtype) {
  return add_tensor(scoped(name), {shape, dtype}, kind, no_node);
}

TensorId GraphBuilder::add(std::string_view name, const Operator& op,
                           std::initializer_list<TensorId> inputs) {
  return add(name, op, std::span(inputs.begin(), inputs.size()));
}

TensorId GraphBuilder::add(std::string_view name, const Operator& op,
                           std::span<const TensorId> inputs) {
  return graph_.nodes[add_node(name, op, inputs)].outputs.front();
}

NodeId GraphBuilder::add_node(std::string_view name, const Operator& op,
                              std::span<const TensorId> inputs, std::span<const TensorId> own) {
  const auto id = static_cast<NodeId>(graph_.nodes.size());
  Node node{
      unique_name(scoped(name)), scope_, op, {}, {}, static_cast<std::uint32_t>(inputs.size())};
  try {
    sheet_.clear();
    for (const TensorId input : inputs) sheet_.inputs.push_back(graph_.tensors.at(input).type);
    infer(op, sheet_);
    node.inputs.reserve(inputs.size() + sheet_.own.size());
    node.inputs.assign(inputs.begin(), inputs.end());
    if (own.empty()) {
      make_own_tensors(node);
    } else {
      take_own_tensors(node, own);
    }
  } catch (Error& error) {
    error.add_context(fmt::format("node '{}'", node.name));
    throw;
  }
  for (const auto& [left, right] : sheet_.assumed_equal)
    graph_.assumptions.push_back({left, right, id});
  node.outputs.reserve(sheet_.outputs.size());
  for (const TensorType& output : sheet_.outputs) {
    std::string output_name =
        node.outputs.empty() ? node.name : fmt::format("{}:{}", node.name, node.outputs.size());
    node.outputs.push_back(add_tensor(std::move(output_name), output, TensorKind::activation, id));
  }
  graph_.nodes.push_back(std::move(node));
  return id;
}

void GraphBuilder::make_own_tensors(Node& node) {
  // Weights are stored like the data they meet; what meets only integers (an embedding) is stored
  // as its output.
  const bool follows_input = !sheet_.inputs.empty() && is_floating(sheet_.inputs.front().dtype);
  const DType dtype = follows_input ? sheet_.inputs.front().dtype : DType::fp32;
  for (const OwnTensor& own : sheet_.own) {
    std::string name;
    name.reserve(node.name.size() + 1 + own.name.size());
    name.append(node.name).append(1, '.').append(own.name);
    node.inputs.push_back(add_tensor(std::move(name), {own.shape, dtype}, own.kind, no_node));
  }
}

void GraphBuilder::take_own_tensors(Node& node, std::span<const TensorId> given) {
  if (given.size() != sheet_.own.size()) {
    fail(ErrorKind::input, "has {} weights, the operator has {}", given.size(), sheet_.own.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Shape& shape = graph_.tensors.at(given[i]).type.shape;
    if (shape != sheet_.own[i].shape) {
      fail(ErrorKind::input, "{} is {}, expected {}", sheet_.own[i].name,
           text_of(shape, graph_.symbols), text_of(sheet_.own[i].shape, graph_.symbols));
    }
    node.inputs.push_back(given[i]);
  }
}

TensorId GraphBuilder::own_of(TensorId tensor, std::size_t index) const {
  const NodeId producer = graph_.tensors[tensor].producer;
  STRATA_CHECK(producer != no_node, "an input has no weights");
  const Node& node = graph_.nodes[producer];
  STRATA_CHECK(node.first_own + index < node.inputs.size(), "the operator has fewer weights");
  return node.inputs[node.first_own + index];
}

Graph GraphBuilder::finish() && {
  if (graph_.outputs.empty()) {
    std::vector<bool> is_read(graph_.tensors.size(), false);
    for (const Node& node : graph_.nodes) {
      for (const TensorId input : node.inputs) is_read[input] = true;
    }
    for (const Node& node : graph_.nodes) {
      // Further outputs (an LSTM's last state) are by-products: only a first output that nothing
      // reads is a result.
      if (!node.outputs.empty() && !is_read[node.outputs.front()])
        graph_.outputs.push_back(node.outputs.front());
    }
  }
  verify(graph_);
  return std::move(graph_);
}

TensorId GraphBuilder::add_tensor(std::string name, const TensorType& type, TensorKind kind,
                                  NodeId producer) {
  graph_.tensors.push_back({std::move(name), type, kind, producer});
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

std::string GraphBuilder::scoped(std::string_view name) const {
  if (scope_.empty()) return std::string(name);
  std::string full;
  full.reserve(scope_.size() + 1 + name.size());
  return full.append(scope_).append(1, '.').append(name);
}

std::string GraphBuilder::unique_name(std::string name) {
  if (names_.insert(name)) return name;
  std::uint32_t& count = repeats_[name];
  std::string numbered;
  // Files repeat names, and may already hold the one we would make up: count on until it is free.
  do {
    numbered = fmt::format("{}_{}", name, ++count + 1);
  } while (!names_.insert(numbered));
  return numbered;
}

GraphBuilder::Scope::Scope(GraphBuilder& builder, std::string_view name)
    : builder_(builder), outer_length_(builder.scope_.size()) {
  if (!builder_.scope_.empty()) builder_.scope_ += '.';
  builder_.scope_ += name;
}

GraphBuilder::Scope::~Scope() { builder_.scope_.resize(outer_length_); }

}  // namespace strata
