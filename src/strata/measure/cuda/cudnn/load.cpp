// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/measure/cuda/operators/cudnn.cuh"

#include <fmt/format.h>

namespace strata::cuda::train {

SharedCudnn load_cudnn(cudaStream_t stream, std::string& problem) {
  return CudnnFunctions::load(stream, problem);
}

std::string cudnn_version_text(const CudnnFunctions& cudnn) {
  return fmt::format("cuDNN {}", version_text(cudnn.version()));
}

}  // namespace strata::cuda::train
