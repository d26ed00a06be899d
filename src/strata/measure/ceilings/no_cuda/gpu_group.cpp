// SPDX-License-Identifier: Apache-2.0
// Stands for measure/ceilings/cuda/nccl_group.cpp in a build without CUDA.
#include "strata/measure/ceilings/collectives.hpp"

namespace strata {

std::unique_ptr<GpuGroup> open_gpu_group(const std::string&) {
  cuda_devices();  // says why there is none
  return nullptr;
}

}  // namespace strata
