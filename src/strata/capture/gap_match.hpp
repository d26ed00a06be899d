// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/match_layers.hpp"

#include <vector>

/// Kernels that ran outside of every call of a module: operators written as functions (an addition
/// of a residual block), sums of gradients, the loss.
namespace strata {

struct GapInput {
  const Recording& recording;
  const std::vector<KernelClass>& classes;
  const ModelLayers& model;
  const StepWork& work;
  const std::vector<std::vector<NodeId>>& forward;   ///< nodes per entry of work.forward
  const std::vector<std::vector<NodeId>>& backward;  ///< nodes per entry of work.backward
};

struct GapKernel {
  std::size_t kernel = 0;
  LayerGroup group;
};

/// What the program has between the steps of the two calls around a kernel, and no call has made,
/// is what such kernels may be. As many of them as kernels: one each, in order; one alone: all
/// kernels are it; otherwise they stay without a layer. Before the first and behind the last call
/// of a pass the loss is among them.
std::vector<GapKernel> kernels_between_calls(const GapInput& input);

}  // namespace strata
