// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <cstddef>
#include <vector>

/// Keras keeps the channels of an image last (N, space, C); the graph keeps them before space. A
/// tensor therefore has two orders of axes: Keras's, in which files speak of it, and the stored
/// one. Nothing is transposed as long as layers can be said in the stored order.
namespace strata::keras {

/// A tensor, and where the last axis of Keras's order stands in the graph.
struct Value {
  TensorId id = 0;
  /// 0: stored as Keras has it. 1: N, C, space. 2: N, T, C, space (frames of a film).
  std::size_t channels_at = 0;
};
using Values = std::vector<Value>;

/// The place of an axis of Keras's order in the stored one.
std::size_t stored_axis(std::size_t axis, std::size_t rank, std::size_t channels_at);

/// A shape in Keras's order as it is stored, and back.
Shape stored_shape(const Shape& keras, std::size_t channels_at);
Shape keras_shape(const Shape& stored, std::size_t channels_at);

/// The stored axes of `to`, each as the place it has in `from`: the permutation of a Transpose.
Axes permutation_between(std::size_t rank, std::size_t from_channels_at,
                         std::size_t to_channels_at);

/// Whether a permutation leaves the numbers where they are, because it only moves axes of extent 1
/// among the others.
bool moves_nothing(const Axes& permutation, const Shape& shape);

}  // namespace strata::keras
