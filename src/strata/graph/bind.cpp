// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/bind.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <algorithm>

namespace strata {
namespace {

// Beyond this a size is a slip of the pen or an attack, and products with it would soon overflow.
constexpr std::int64_t largest_extent = std::int64_t{1} << 48;

void bind_shape(const Graph& graph, const Tensor& tensor, const std::vector<std::int64_t>& values,
                BoundTensor& bound) {
  bound.elements = 1;
  for (const Dim dim : tensor.type.shape) {
    const std::int64_t extent = checked_mul(dim.factor, values[dim.symbol]);
    if (extent < 1 || extent > largest_extent) {
      fail(ErrorKind::input, "extent {} = {} must lie between 1 and 2^48", graph.symbols.text(dim),
           extent);
    }
    bound.shape.push_back(extent);
    bound.elements = checked_mul(bound.elements, extent);
  }
  bound.bytes = checked_mul(bound.elements, bytes_per_element(bound.dtype));
}

// A table of 512 positions serves sequences up to 512: said in the words of whoever chose the
// length.
void check_limit(const Graph& graph, Dim table, Dim wanted, std::int64_t value) {
  const std::optional<std::int64_t> most = graph.symbols.limit(table, wanted);
  if (!most || value <= *most) return;
  const std::string name = graph.symbols.text(wanted);
  fail(ErrorKind::input, "{} has {} positions, the most for {} is {}; got {}", graph.name, *most,
       name == "seq" ? "--seq" : name, *most, value);
}

void check_assumptions(const Graph& graph, const std::vector<std::int64_t>& values) {
  for (const Assumption& assumption : graph.assumptions) {
    const std::int64_t left = checked_mul(assumption.left.factor, values[assumption.left.symbol]);
    const std::int64_t right =
        checked_mul(assumption.right.factor, values[assumption.right.symbol]);
    if (left == right) continue;
    check_limit(graph, assumption.left, assumption.right, right);
    check_limit(graph, assumption.right, assumption.left, left);
    fail(ErrorKind::input, "node '{}': extents must agree, but {} is {} and {} is {}",
         graph.nodes[assumption.node].name, graph.symbols.text(assumption.left), left,
         graph.symbols.text(assumption.right), right);
  }
}

}  // namespace

BoundGraph bind_graph(const Graph& graph, const Binding& binding, std::optional<DType> dtype) {
  const std::vector<std::int64_t> values = graph.symbols.evaluate(binding);
  const std::vector<bool> wants_gradient = tensors_with_gradient(graph);

  BoundGraph bound{&graph, binding, {}};
  for (const Parameter& parameter : graph.symbols.parameters()) {
    if (parameter.default_value)
      bound.binding.try_emplace(parameter.name, *parameter.default_value);
  }
  bound.tensors.resize(graph.tensors.size());
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    BoundTensor& target = bound.tensors[id];
    target.dtype = dtype && is_floating(tensor.type.dtype) ? *dtype : tensor.type.dtype;
    target.wants_gradient = wants_gradient[id];
    try {
      bind_shape(graph, tensor, values, target);
    } catch (Error& error) {
      error.add_context(fmt::format("tensor '{}'", tensor.name));
      throw;
    }
  }
  check_assumptions(graph, values);
  return bound;
}

std::vector<bool> tensors_with_gradient(const Graph& graph) {
  // Backwards: what reaches a result. A by-product that nothing reads (an LSTM's last state) gets
  // no gradient.
  std::vector<bool> reaches(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) reaches[output] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                     [&](TensorId id) { return reaches[id]; });
    if (!is_used) continue;
    for (const TensorId input : node->inputs) reaches[input] = true;
  }
  // Forwards: what depends on a parameter. Nodes come after their inputs, so one pass each way is
  // enough.
  std::vector<bool> wanted(graph.tensors.size(), false);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    wanted[id] =
        tensor.kind == TensorKind::parameter && is_floating(tensor.type.dtype) && reaches[id];
  }
  for (const Node& node : graph.nodes) {
    const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](TensorId id) { return wanted[id]; });
    for (const TensorId output : node.outputs) {
      wanted[output] = depends && reaches[output] && is_floating(graph.tensors[output].type.dtype);
    }
  }
  return wanted;
}

}  // namespace strata
