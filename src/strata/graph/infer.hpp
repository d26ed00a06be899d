// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace strata {

/// A tensor that belongs to an operator: its weight, its running mean.
struct OwnTensor {
  std::string name;  ///< "weight": becomes "<node>.weight"
  Shape shape;
  TensorKind kind = TensorKind::parameter;
};

/// The work sheet of shape inference for one node: data inputs in, outputs and own tensors out. It
/// is reused from node to node so that a long chain does not allocate per node.
struct Inference {
  explicit Inference(Symbols& table) : symbols(table) {}

  Symbols& symbols;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  std::vector<OwnTensor> own;
  std::vector<std::pair<Dim, Dim>> assumed_equal;

  void clear();

  const Shape& shape(std::size_t input) const { return inputs[input].shape; }
  DType dtype(std::size_t input) const { return inputs[input].dtype; }

  /// Errors unless there are between `least` and `most` data inputs.
  void expect_inputs(std::size_t least, std::size_t most) const;
  /// Errors unless the input has at least / exactly so many axes.
  void expect_axes(std::size_t input, std::size_t least, std::size_t most = most_axes) const;

  void output(const Shape& shape, DType dtype) { outputs.push_back({shape, dtype}); }
  void own_tensor(std::string name, const Shape& shape, TensorKind kind = TensorKind::parameter) {
    own.push_back({std::move(name), shape, kind});
  }

  /// The number behind a Dim that decides about structure (channels), which may not be symbolic.
  std::int64_t number(Dim dim, std::string_view what) const;
  /// Takes two extents for equal: an error when both are numbers and differ, an assumption when a
  /// symbol is in play.
  void assume_equal(Dim left, Dim right, std::string_view what);
  /// Broadcasts two extents as NumPy does.
  Dim broadcast(Dim left, Dim right);
  Shape broadcast(const Shape& left, const Shape& right);
};

/// Fills outputs and own tensors of `sheet` for the operator. One overload per operator family in
/// infer/*.cpp.
void infer(const Operator& op, Inference& sheet);

}  // namespace strata
