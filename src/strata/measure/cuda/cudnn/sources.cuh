// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/measure/cuda/convolutions/convolutions.cuh"
#include "strata/measure/engine/engine_recipe.hpp"

namespace strata::cuda::train {

/// The algorithms that cuDNN's older interface names: implicit_gemm, fft, winograd_nonfused, …
void add_named_algorithms(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                          const ConvLimits& limits);
/// Of the engines of its graph interface, those that its quick heuristic proposes, in its order.
void add_proposed_engines(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                          const ConvLimits& limits);
/// The engines of its graph interface: those that its heuristics propose, then all others.
void add_engines(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                 const ConvLimits& limits);
/// The engine that an earlier run chose, as it was; nothing where it is not that any more.
std::unique_ptr<ConvRunner> engine_again(const Cudnn& cudnn, const ConvRequest& request,
                                         const EngineRecipe& recipe, std::int64_t most_scratch);

/// cuDNN's Winograd with 5×5 windows is worse than 1e-3 in fp32.
inline bool loses_digits_with_winograd(const ConvRequest& request) {
  return request.kernel[1] >= 5 || request.kernel[2] >= 5;
}

}  // namespace strata::cuda::train
