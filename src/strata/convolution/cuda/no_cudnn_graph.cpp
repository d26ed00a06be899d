// SPDX-License-Identifier: Apache-2.0
// Stands for cudnn_graph.cpp in a build without cuDNN's headers.
#include "strata/convolution/cuda/cudnn_graph.hpp"

namespace strata::cuda {

std::shared_ptr<CudnnGraph> CudnnGraph::load(void*, std::string& problem) {
  problem = "this strata was built without cuDNN (cudnn.h)";
  return nullptr;
}

}  // namespace strata::cuda
