// SPDX-License-Identifier: Apache-2.0
// Stands for convolution/cuda/ in a build without CUDA.
#include "strata/convolution/lab/strategy.hpp"
#include "strata/gpu/devices.hpp"

namespace strata {

std::unique_ptr<ConvDevice> cuda_conv_device(int) {
  cuda_devices();
  return nullptr;
}

}  // namespace strata
