// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/points.hpp"
#include "strata/graph/bind.hpp"

#include <string>
#include <vector>

namespace strata {

/// A layer that the lab cannot take, and why.
struct ConvLayerLeftOut {
  std::string layer;
  std::string reason;
};

struct NetworkConvolutions {
  ConvSeries
      series;  ///< each distinct convolution once, with how often an iteration runs each pass
  std::vector<ConvLayerLeftOut> left_out;
};

/// The convolutions of a network in training: forward, and the gradients that are needed (the first
/// layer has none of its input). One dimension becomes two with height 1; padding that differs
/// between two sides becomes a larger input without padding, which is the same arithmetic; a
/// transposed convolution is the convolution of which it is the input gradient, with its passes
/// exchanged. Three dimensions are left out.
NetworkConvolutions network_convolutions(const BoundGraph& bound);

}  // namespace strata
