// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/context.cuh"

namespace strata::cuda {

/// "cudnn:graph", what the first heuristic of cuDNN's graph interface takes, and
/// "cudnn:graph-best", the fastest of all its engines.
void add_cudnn_graph(StrategyList& list, const SharedContext& context);

}  // namespace strata::cuda
