// SPDX-License-Identifier: Apache-2.0
// Stands for cudnn/ in a build without its headers: convolutions are computed by our own kernels.
#include "strata/measure/cuda/convolutions/convolutions.cuh"

namespace strata::cuda::train {

std::unique_ptr<ConvSource> make_cudnn_source(const std::shared_ptr<ConvContext>&,
                                              std::vector<std::string>& versions) {
  versions.emplace_back("without cuDNN (built without cudnn.h)");
  return nullptr;
}

}  // namespace strata::cuda::train
