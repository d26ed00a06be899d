// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/convolution/context.cuh"

namespace strata::cuda {

/// How a problem is done by spectra; forced where variants are compared.
struct FftChoice {
  int n = 0;              ///< side of a tile; 0: the one that is thought to be faster
  int fused = -1;         ///< products and way back in one kernel; −1: by the number of channels
  bool by_three = false;  ///< complex products by three real ones
};
std::unique_ptr<ConvStrategy> fft_strategy(const SharedContext& context, std::string name,
                                           const FftChoice& choice);

}  // namespace strata::cuda
