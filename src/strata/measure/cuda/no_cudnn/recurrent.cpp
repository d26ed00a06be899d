// SPDX-License-Identifier: Apache-2.0
// Stands for cudnn/ in a build without its headers: recurrent layers run step by step.
#include "strata/measure/cuda/products/recurrent_ways.cuh"

namespace strata::cuda::train {

std::unique_ptr<RecurrentSource> make_cudnn_recurrent_source(cudaStream_t, std::string& problem) {
  problem = "built without cudnn.h";
  return nullptr;
}

}  // namespace strata::cuda::train
