// SPDX-License-Identifier: Apache-2.0
// Stands for measure/cuda/training/ in a build without CUDA.
#include "strata/measure/ceilings.hpp"
#include "strata/measure/training/device.hpp"

namespace strata {

std::unique_ptr<TrainingDevice> cuda_training_device(int, const DeviceChoices&) {
  cuda_devices();
  return nullptr;
}

}  // namespace strata
