// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/tensor_descriptor.cuh"
#include "strata/measure/cuda/cudnn/tried_node.cuh"
#include "strata/measure/cuda/operators/channels.cuh"

#include <fmt/format.h>

namespace strata::cuda::train {
namespace {

class LocalResponseCall {
 public:
  LocalResponseCall(Cudnn cudnn, const ChannelArray& array, std::int64_t size)
      : cudnn_(std::move(cudnn)),
        factors_(array.dtype),
        tensor_(cudnn_, array.dtype, {array.rows, array.channels, array.inner, 1}) {
    using namespace training_constants;
    refuse_unless(*cudnn_, cudnn_->create_lrn(&window_), "cudnnCreateLRNDescriptor");
    const cudnnStatus_t status =
        cudnn_->set_lrn(window_, static_cast<unsigned>(size), local_response_alpha,
                        local_response_beta, local_response_k);
    if (status == CUDNN_STATUS_SUCCESS) return;
    cudnn_->destroy_lrn(window_);
    refuse_unless(*cudnn_, status, "cudnnSetLRNDescriptor");
  }
  ~LocalResponseCall() { cudnn_->destroy_lrn(window_); }
  LocalResponseCall(const LocalResponseCall&) = delete;
  LocalResponseCall& operator=(const LocalResponseCall&) = delete;

  cudnnStatus_t forward(void* y, const void* x) const {
    return cudnn_->lrn_forward(cudnn_->handle, window_, CUDNN_LRN_CROSS_CHANNEL_DIM1,
                               factors_.one(), tensor_.get(), x, factors_.zero(), tensor_.get(), y);
  }
  cudnnStatus_t backward(void* dx, const void* dy, const void* y, const void* x) const {
    return cudnn_->lrn_backward(cudnn_->handle, window_, CUDNN_LRN_CROSS_CHANNEL_DIM1,
                                factors_.one(), tensor_.get(), y, tensor_.get(), dy, tensor_.get(),
                                x, factors_.zero(), tensor_.get(), dx);
  }

 private:
  Cudnn cudnn_;
  Factors factors_;
  TensorDescriptor tensor_;
  cudnnLRNDescriptor_t window_ = nullptr;
};

class CudnnLocalResponseNode final : public CudaNode {
 public:
  CudnnLocalResponseNode(NodeFacts facts, std::int64_t size)
      : CudaNode(std::move(facts)), call_(context().cudnn, image_channels(input(0)), size) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = needs.outputs = facts().is_training;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    const CudnnFunctions& cudnn = *context().cudnn;
    if (pass == Pass::forward) {
      check_cudnn(cudnn, call_.forward(memory.outputs[0], memory.inputs[0]),
                  "cudnnLRNCrossChannelForward");
    } else if (makes(memory, 0)) {
      check_cudnn(cudnn,
                  call_.backward(memory.input_gradients[0], memory.output_gradients[0],
                                 memory.outputs[0], memory.inputs[0]),
                  "cudnnLRNCrossChannelBackward");
    }
  }
  std::string implementation(Pass) const override {
    return fmt::format("{} LRN (legacy call)", cudnn_version_text(*context().cudnn));
  }

 private:
  LocalResponseCall call_;
};

}  // namespace

// Of an even number of channels cuDNN has one more after than before, PyTorch one more before.
KernelsOrReason cudnn_local_response_norm(const NodeFacts& facts, std::int64_t size) {
  if (size % 2 == 0) return NoKernels{"cuDNN's window of an even number of channels is another"};
  return tried_node(facts, [&] { return std::make_unique<CudnnLocalResponseNode>(facts, size); });
}

}  // namespace strata::cuda::train
