// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Along which axis a tensor is split over ranks, and what layers between two products make of it:
/// queries reshaped to heads are split by heads.
namespace strata {

inline constexpr int no_axis = -1;

/// What is known of a layer whose inputs are split.
struct SplitStep {
  enum class Kind : std::uint8_t {
    waits,    ///< for other inputs that must be split, too
    refused,  ///< it needs all features, heads or what else is split
    split,    ///< it does the same on every rank's share
  } kind = Kind::refused;
  int axis = no_axis;  ///< of its outputs
  std::string reason;  ///< of heads that the ranks do not divide
};

/// What all layers are asked with.
struct SplitFacts {
  const Graph& graph;
  const std::vector<std::vector<NodeId>>& readers;  ///< of every tensor
  const std::vector<std::uint32_t>& uses;           ///< of every tensor, weights included
  const std::vector<bool>& has_gradient;            ///< of every tensor
  std::int64_t ranks = 1;
};

/// `axes`: of every tensor the axis along which it is split, or no_axis.
SplitStep split_step(const SplitFacts& facts, const std::vector<int>& axes, NodeId node);

/// Whether some such layer can be split: it works by feature or head, or only moves numbers.
bool stands_between_products(const Operator& op);

/// The operator of a rank, for a node that split_step calls split.
Operator share_of_inner(const Graph& graph, const std::vector<int>& axes, NodeId node,
                        std::int64_t ranks);

/// The shape with a rank's share of one axis.
Shape share_of_axis(Shape shape, int axis, std::int64_t ranks);

}  // namespace strata
