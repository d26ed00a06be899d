// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/inline_vector.hpp"
#include "strata/graph/graph.hpp"

#include <optional>
#include <vector>

namespace strata {

/// A tensor whose size is known.
struct BoundTensor {
  InlineVector<std::int64_t, most_axes> shape;
  DType dtype = DType::fp32;
  bool wants_gradient = false;  ///< training computes its gradient
  std::int64_t elements = 0;
  std::int64_t bytes = 0;

  std::int64_t operator[](std::size_t axis) const { return shape[axis]; }
  std::size_t axes() const { return shape.size(); }
};

/// A Graph with a number for every extent. Refers to the graph, which must outlive it; tensors are
/// indexed by TensorId.
struct BoundGraph {
  const Graph* graph = nullptr;
  Binding binding;  ///< the value of every parameter, defaults included
  std::vector<BoundTensor> tensors;
};

/// Puts numbers in: parameter values by name, and a data type that replaces every floating-point
/// type of the network when given. Errors name the node or tensor: an extent that comes out below
/// 1, a count beyond 64 bits, a mismatch that only now shows. Linear in nodes; cheap enough to call
/// once per point of a sweep.
BoundGraph bind_graph(const Graph& graph, const Binding& binding,
                      std::optional<DType> dtype = std::nullopt);

/// For every tensor whether training needs its gradient: floating-point, a parameter or made from
/// one, and on the way to an output of the graph.
std::vector<bool> tensors_with_gradient(const Graph& graph);

}  // namespace strata
