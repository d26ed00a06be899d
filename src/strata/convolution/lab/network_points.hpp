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

/// The convolutions of a network in training, as convolution_of() (node_convolution.hpp) has them:
/// forward, and the gradients that are needed (the first layer has none of its input).
NetworkConvolutions network_convolutions(const BoundGraph& bound);

}  // namespace strata
