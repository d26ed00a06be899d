// SPDX-License-Identifier: Apache-2.0
// Stands for gpu/cuda/devices.cpp in a build without CUDA.
#include "strata/gpu/devices.hpp"

#include "strata/base/error.hpp"

namespace strata {

std::vector<DeviceInfo> cuda_devices() {
  fail(ErrorKind::environment,
       "this strata was built without CUDA and measures no GPU; build it where nvcc is (cmake "
       "--preset cuda). Predictions for GPUs work without: strata list machines");
}

}  // namespace strata
