// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/importers/onnx/written_model_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

/// What tests ask of an imported graph, as texts that are easy to compare.
namespace strata::onnx::test {

/// "convolution relu linear".
inline std::string operators_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (!text.empty()) text += ' ';
    text += name_of(node.op);
  }
  return text;
}

inline std::int64_t count_of(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [op](const Node& node) { return name_of(node.op) == op; });
}

inline const Node& node_named(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return node;
  }
  throw std::runtime_error(fmt::format("no node '{}' among: {}", name, operators_of(graph)));
}

inline std::string shape_text(const Graph& graph, TensorId tensor) {
  return text_of(graph.tensors[tensor].type.shape, graph.symbols);
}

inline std::string output_shape(const Graph& graph, std::size_t output = 0) {
  return shape_text(graph, graph.outputs.at(output));
}

inline std::int64_t parameters_of(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t count = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) count += bound.tensors[id].elements;
  }
  return count;
}

inline std::string warnings_of(const Graph& graph) {
  std::string text;
  for (const Warning& warning : graph.warnings) {
    text += fmt::format("{}: {}\n", name_of(warning.code), warning.message);
  }
  return text;
}

inline bool warns(const Graph& graph, WarningCode code) {
  return std::any_of(graph.warnings.begin(), graph.warnings.end(),
                     [code](const Warning& warning) { return warning.code == code; });
}

/// "input: model.onnx: node …", or nothing when there is no problem.
inline std::string problem_with_text(std::string_view text, const ImportOptions& options = {}) {
  try {
    read_onnx_text(text, "model.onnx", options);
    return "no problem";
  } catch (const Error& error) {
    return fmt::format("{}: {}", name_of(error.kind()), error.what());
  }
}

inline std::string problem_with(const WrittenModel& model, const ImportOptions& options = {}) {
  return problem_with_text(model.text(), options);
}

}  // namespace strata::onnx::test
