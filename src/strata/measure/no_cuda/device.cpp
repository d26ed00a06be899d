// SPDX-License-Identifier: Apache-2.0
// Stands for measure/cuda/ in a build without CUDA.
#include "strata/measure/engine/device.hpp"

#include "strata/gpu/devices.hpp"

namespace strata {

std::unique_ptr<TrainingDevice> cuda_training_device(int, const DeviceChoices&) {
  cuda_devices();
  return nullptr;
}

}  // namespace strata
