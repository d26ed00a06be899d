// SPDX-License-Identifier: Apache-2.0
// Stands for measure/cuda/gpu_probe.cpp in a build without CUDA.
#include "strata/measure/readiness/gpu_probe.hpp"

namespace strata {

GpuProbe probe_gpu(const DeviceInfo&) {
  cuda_devices();  // says why there is none
  return {};
}

}  // namespace strata
