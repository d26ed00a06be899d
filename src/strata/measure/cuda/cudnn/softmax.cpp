// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/tensor_descriptor.cuh"
#include "strata/measure/cuda/cudnn/tried_node.cuh"

#include <fmt/format.h>

namespace strata::cuda::train {
namespace {

/// [outer, length, inner], along the second axis.
class SoftmaxCall {
 public:
  SoftmaxCall(Cudnn cudnn, const SoftmaxRun& run)
      : cudnn_(std::move(cudnn)),
        factors_(run.dtype),
        algorithm_(run.is_log ? CUDNN_SOFTMAX_LOG : CUDNN_SOFTMAX_ACCURATE),
        mode_(run.inner == 1 ? CUDNN_SOFTMAX_MODE_INSTANCE : CUDNN_SOFTMAX_MODE_CHANNEL),
        tensor_(cudnn_, run.dtype, {run.outer, run.length, run.inner, 1}) {}

  cudnnStatus_t forward(void* y, const void* x) const {
    return cudnn_->softmax_forward(cudnn_->handle, algorithm_, mode_, factors_.one(), tensor_.get(),
                                   x, factors_.zero(), tensor_.get(), y);
  }
  cudnnStatus_t backward(void* dx, const void* dy, const void* y) const {
    return cudnn_->softmax_backward(cudnn_->handle, algorithm_, mode_, factors_.one(),
                                    tensor_.get(), y, tensor_.get(), dy, factors_.zero(),
                                    tensor_.get(), dx);
  }

 private:
  Cudnn cudnn_;
  Factors factors_;
  cudnnSoftmaxAlgorithm_t algorithm_;
  cudnnSoftmaxMode_t mode_;
  TensorDescriptor tensor_;
};

class CudnnSoftmaxNode final : public CudaNode {
 public:
  CudnnSoftmaxNode(NodeFacts facts, const SoftmaxRun& run)
      : CudaNode(std::move(facts)), call_(context().cudnn, run) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.outputs = facts().is_training;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    const CudnnFunctions& cudnn = *context().cudnn;
    if (pass == Pass::forward) {
      check_cudnn(cudnn, call_.forward(memory.outputs[0], memory.inputs[0]), "cudnnSoftmaxForward");
    } else if (makes(memory, 0)) {
      check_cudnn(
          cudnn,
          call_.backward(memory.input_gradients[0], memory.output_gradients[0], memory.outputs[0]),
          "cudnnSoftmaxBackward");
    }
  }
  std::string implementation(Pass) const override {
    return fmt::format("{} softmax (legacy call)", cudnn_version_text(*context().cudnn));
  }

 private:
  SoftmaxCall call_;
};

}  // namespace

KernelsOrReason cudnn_softmax(const NodeFacts& facts, const SoftmaxRun& run) {
  return tried_node(facts, [&] { return std::make_unique<CudnnSoftmaxNode>(facts, run); });
}

}  // namespace strata::cuda::train
