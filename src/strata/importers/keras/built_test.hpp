// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/keras/keras.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace strata::keras {

/// "{"class_name": …, "config": {"name": …, …}}".
inline std::string layer(std::string_view class_name, std::string_view arguments = {},
                         std::string_view name = "x") {
  return fmt::format(R"({{"class_name": "{}", "config": {{"name": "{}"{}{}}}}})", class_name, name,
                     arguments.empty() ? "" : ", ", arguments);
}

/// A sequential model of Keras 2 with an input of that shape.
inline std::string sequential(std::string_view shape, std::initializer_list<std::string> layers,
                              std::string_view dtype = "float32") {
  return fmt::format(
      R"({{"class_name": "Sequential", "config": {{"name": "net", "layers": [{}, {}]}}}})",
      layer("InputLayer", fmt::format(R"("batch_input_shape": {}, "dtype": "{}")", shape, dtype),
            "input"),
      fmt::join(layers, ", "));
}

/// An entry of a functional model of Keras 2; `inbound` is what inbound_nodes holds.
inline std::string entry(std::string_view class_name, std::string_view name,
                         std::string_view arguments, std::string_view inbound) {
  return fmt::format(
      R"({{"class_name": "{}", "name": "{}", "config": {{"name": "{}"{}{}}}, "inbound_nodes": [{}]}})",
      class_name, name, name, arguments.empty() ? "" : ", ", arguments, inbound);
}

inline std::string input_entry(std::string_view name, std::string_view shape) {
  return entry("InputLayer", name, fmt::format(R"("batch_input_shape": {})", shape), "");
}

inline std::string functional(std::initializer_list<std::string> layers, std::string_view inputs,
                              std::string_view outputs) {
  return fmt::format(
      R"({{"class_name": "Model", "config": {{"name": "net", "layers": [{}], "input_layers": [{}], "output_layers": [{}]}}}})",
      fmt::join(layers, ", "), inputs, outputs);
}

/// A file read, bound to a batch of 2 unless told otherwise, and counted.
struct Built {
  explicit Built(std::string_view text, Binding binding = {{"batch", 2}},
                 const ImportOptions& options = {})
      : graph(read_keras_text(text, "net.json", options)),
        bound(bind_graph(graph, binding)),
        costs(costs_of(bound)) {}

  const Node* find(std::string_view name) const {
    for (const Node& node : graph.nodes) {
      if (node.name == name) return &node;
    }
    return nullptr;
  }

  template <class Op>
  const Op& op(std::string_view name) const {
    const Node* node = find(name);
    if (node == nullptr) fail(ErrorKind::input, "no node {}", name);
    return std::get<Op>(node->op);
  }

  std::vector<std::int64_t> shape(TensorId tensor) const {
    return {bound.tensors[tensor].shape.begin(), bound.tensors[tensor].shape.end()};
  }
  std::vector<std::int64_t> shape_of(std::string_view name) const {
    const Node* node = find(name);
    return node == nullptr ? std::vector<std::int64_t>() : shape(node->outputs[0]);
  }
  std::vector<std::int64_t> output_shape(std::size_t index = 0) const {
    return shape(graph.outputs[index]);
  }

  std::int64_t elements(TensorKind kind) const {
    std::int64_t sum = 0;
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].kind == kind) sum += bound.tensors[id].elements;
    }
    return sum;
  }
  std::int64_t parameters() const { return elements(TensorKind::parameter); }
  std::int64_t buffers() const { return elements(TensorKind::buffer); }
  std::int64_t mac() const {
    std::int64_t sum = 0;
    for (const NodeCost& cost : costs) sum += cost.forward.mac;
    return sum;
  }
  template <class Op>
  std::size_t count() const {
    std::size_t found = 0;
    for (const Node& node : graph.nodes) found += std::holds_alternative<Op>(node.op) ? 1 : 0;
    return found;
  }

  Graph graph;
  BoundGraph bound;
  std::vector<NodeCost> costs;
};

using Extent = std::vector<std::int64_t>;

/// What reading a text complains about, with its kind: "input: net.json: …".
inline std::string complaint(std::string_view text, const ImportOptions& options = {}) {
  try {
    read_keras_text(text, "net.json", options);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name_of(error.kind()), error.what());
  }
  return "nothing";
}

}  // namespace strata::keras
