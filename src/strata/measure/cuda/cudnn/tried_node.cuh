// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/measure/cuda/trial.cuh"

namespace strata::cuda::train {

/// The node that `make` makes, once it ran; or why cuDNN does not take it. Its calls outside graphs
/// say so only when they run.
template <class Make>
KernelsOrReason tried_node(const NodeFacts& facts, const Make& make) {
  if (!facts.context->cudnn) return NoKernels{facts.context->no_cudnn};
  try {
    std::unique_ptr<NodeKernels> node = make();
    std::string problem = problem_on_zeros(*node, facts);
    if (!problem.empty()) return NoKernels{std::move(problem)};
    return node;
  } catch (const GraphRefusal& refusal) {
    return NoKernels{refusal.reason};
  }
}

}  // namespace strata::cuda::train
