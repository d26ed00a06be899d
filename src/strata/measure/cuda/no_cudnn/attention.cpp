// SPDX-License-Identifier: Apache-2.0
// Stands for cudnn/attention.cpp in a build without its headers.
#include "strata/measure/cuda/attention/attention.cuh"

namespace strata::cuda::train {

std::unique_ptr<CudnnAttention> load_cudnn_attention(cudaStream_t, std::string& problem) {
  problem = "this strata was built without cuDNN (cudnn.h)";
  return nullptr;
}

}  // namespace strata::cuda::train
