// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/match_layers.hpp"

#include <vector>

/// Kernels that ran outside of every call of a module: operators written as functions (an addition
/// of a residual block), sums of gradients, the loss.
namespace strata {

struct MatchInput {
  const Recording& recording;
  const std::vector<KernelClass>& classes;
  const ModelLayers& model;
  const StepWork& work;
  const std::vector<std::vector<NodeId>>& forward;   ///< nodes per entry of work.forward
  const std::vector<std::vector<NodeId>>& backward;  ///< nodes per entry of work.backward
};

struct MatchedKernel {
  std::size_t kernel = 0;
  LayerGroup group;
};

/// The candidates for such kernels are the steps of the program between the steps of the two calls
/// around them, without those that a call has made. With as many candidates as kernels each kernel
/// gets one, in order; with one candidate all kernels get it; otherwise they stay without a layer.
/// Before the first and after the last call of a pass the loss is a candidate, too.
std::vector<MatchedKernel> kernels_between_calls(const MatchInput& input);

}  // namespace strata
