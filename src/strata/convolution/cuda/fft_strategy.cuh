// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/context.cuh"

namespace strata::cuda {

/// How a problem is done by spectra; forced where the ways are compared.
struct FftChoice {
  int n = 0;                 ///< side of a tile; 0: the one that is thought to be faster
  bool may_be_fused = true;  ///< products and way back in one kernel where there are few channels
};
std::unique_ptr<ConvStrategy> fft_strategy(const SharedContext& context, std::string name,
                                           const FftChoice& choice);

}  // namespace strata::cuda
