// SPDX-License-Identifier: Apache-2.0
// Stands for measure/cuda/convolution/ in a build without CUDA.
#include "strata/measure/ceilings.hpp"
#include "strata/measure/convolution/strategy.hpp"

namespace strata {

std::unique_ptr<ConvDevice> cuda_conv_device(int) {
  cuda_devices();
  return nullptr;
}

}  // namespace strata
