// SPDX-License-Identifier: Apache-2.0
// Stands for cudnn/ in a build without its header: plain kernels compute what they can.
#include "strata/measure/cuda/node.cuh"

namespace strata::cuda::train {
namespace {

constexpr const char* built_without_cudnn = "this strata was built without cuDNN (cudnn.h)";

}  // namespace

SharedCudnn load_cudnn(cudaStream_t, std::string& problem) {
  problem = built_without_cudnn;
  return nullptr;
}

std::string cudnn_version_text(const CudnnFunctions&) { return {}; }

std::vector<std::unique_ptr<ConvAlgorithm>> cudnn_convolutions(const TrainingContext&,
                                                               const ConvRequest&, std::int64_t) {
  return {};
}

AttentionOrReason cudnn_attention(const TrainingContext&, const AttentionShape&) {
  return built_without_cudnn;
}
KernelsOrReason cudnn_pool(const NodeFacts&, const PoolRun&) {
  return NoKernels{built_without_cudnn};
}
KernelsOrReason cudnn_softmax(const NodeFacts&, const SoftmaxRun&) {
  return NoKernels{built_without_cudnn};
}
KernelsOrReason cudnn_local_response_norm(const NodeFacts&, std::int64_t) {
  return NoKernels{built_without_cudnn};
}
KernelsOrReason cudnn_batch_norm(const NodeFacts&, const BatchNorm&) {
  return NoKernels{built_without_cudnn};
}
KernelsOrReason cudnn_row_norm(const NodeFacts&, const RowNorm&, bool, bool) {
  return NoKernels{built_without_cudnn};
}
KernelsOrReason cudnn_recurrent(const NodeFacts&, const Recurrent&) {
  return NoKernels{built_without_cudnn};
}

}  // namespace strata::cuda::train
