// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"
#include "strata/graph/bind.hpp"

#include <optional>
#include <string>

namespace strata {

/// A convolution of a network as the lab has it. One dimension is two with height 1; padding that
/// differs between two sides is a larger input without padding, which is the same arithmetic; a
/// transposed convolution is the convolution of which it is the gradient of the input.
struct NodeConvolution {
  ConvShape shape;
  bool is_transposed = false;
  bool has_uneven_padding = false;  ///< the shape's input is the padded one
  /// Why the lab cannot take it: three dimensions, or what refusal_of() says of the shape. Nothing:
  /// it can, and only then the shape is meant.
  std::optional<std::string> refusal;

  /// Which pass of the shape computes a pass of the node.
  ConvPass pass_of(ConvPass of_node) const;
};

/// Nothing where the node is no convolution.
std::optional<NodeConvolution> convolution_of(const BoundGraph& bound, const Node& node);

}  // namespace strata
