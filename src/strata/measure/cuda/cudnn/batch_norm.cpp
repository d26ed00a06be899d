// SPDX-License-Identifier: Apache-2.0
// The calls and the mode that PyTorch takes for tensors with the channels before the pixels.
#include "strata/gpu/cuda/cudnn/tensor_descriptor.cuh"
#include "strata/measure/cuda/cudnn/tried_node.cuh"
#include "strata/measure/cuda/kernels/pointwise.cuh"
#include "strata/measure/engine/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::cuda::train {
namespace {

constexpr double norm_epsilon = training_constants::batch_norm_epsilon;
constexpr cudnnBatchNormMode_t norm_mode = CUDNN_BATCHNORM_SPATIAL;
constexpr cudnnBatchNormOps_t norm_only = CUDNN_BATCHNORM_OPS_BN;

std::vector<std::int64_t> four_extents(const BoundTensor& x) {
  if (x.axes() == 4) return {x[0], x[1], x[2], x[3]};
  return {x[0], x[1], x.elements / (x[0] * x[1]), 1};
}

class CudnnBatchNormNode final : public CudaNode {
 public:
  CudnnBatchNormNode(NodeFacts facts, const BatchNorm& op)
      : CudaNode(std::move(facts)),
        op_(op),
        channels_(input(0)[1]),
        factors_(input(0).dtype),
        x_(context().cudnn, input(0).dtype, four_extents(input(0))),
        weights_(context().cudnn, input(0).dtype, {1, channels_, 1, 1}) {
    const std::int64_t array = channel_bytes();
    ask_for_sizes();
    mean_ = saved_.add(array);
    inverse_deviation_ = saved_.add(array);
    reserve_ = saved_.add(static_cast<std::int64_t>(reserve_bytes_));
    for (std::int64_t& place : arrays_) place = scratch_.add(array);
    work_ = scratch_.add(static_cast<std::int64_t>(work_bytes_));
    if (this->facts().is_training && !input(0).wants_gradient)
      unwanted_ = scratch_.add(input(0).bytes);
  }

  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.scratch_bytes = scratch_.bytes();
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = saved_.bytes();
    needs.backward_is_one = true;
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass != Pass::forward) return backward(memory);
    return facts().is_training ? forward(memory) : inference(memory);
  }

  std::string implementation(Pass) const override {
    return fmt::format("{} batch norm (legacy call)", cudnn_version_text(*context().cudnn));
  }

 private:
  const CudnnFunctions& cudnn() const { return *context().cudnn; }
  std::int64_t channel_bytes() const { return channels_ * bytes_per_element(input(0).dtype); }
  std::size_t scale_input() const { return first_own(); }
  std::size_t shift_input() const { return first_own() + (op_.scale ? 1 : 0); }
  std::size_t running_input() const { return shift_input() + (op_.shift ? 1 : 0); }
  void* array(const NodeMemory& memory, std::size_t which) const {
    return static_cast<char*>(memory.scratch) + arrays_[which];
  }
  void* saved(const NodeMemory& memory, std::int64_t place) const {
    return static_cast<char*>(memory.saved) + place;
  }
  void* work(const NodeMemory& memory) const {
    return work_bytes_ == 0 ? nullptr : static_cast<char*>(memory.scratch) + work_;
  }

  void ask_for_sizes() {
    if (!facts().is_training) return;
    std::size_t forward = 0, backward = 0;
    refuse_unless(
        cudnn(),
        cudnn().batch_norm_forward_bytes(cudnn().handle, norm_mode, norm_only, x_.get(), nullptr,
                                         x_.get(), weights_.get(), nullptr, &forward),
        "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize");
    refuse_unless(cudnn(),
                  cudnn().batch_norm_backward_bytes(cudnn().handle, norm_mode, norm_only, x_.get(),
                                                    nullptr, x_.get(), nullptr, x_.get(),
                                                    weights_.get(), nullptr, &backward),
                  "cudnnGetBatchNormalizationBackwardExWorkspaceSize");
    refuse_unless(cudnn(),
                  cudnn().batch_norm_reserve_bytes(cudnn().handle, norm_mode, norm_only, nullptr,
                                                   x_.get(), &reserve_bytes_),
                  "cudnnGetBatchNormalizationTrainingExReserveSpaceSize");
    work_bytes_ = std::max(forward, backward);
  }

  /// cuDNN always wants both; ones and zeros stand for those that the layer does not have.
  struct Weights {
    void *scale, *shift;
  };
  Weights weights_in(const NodeMemory& memory) const {
    Weights w{array(memory, 0), array(memory, 1)};
    if (op_.scale) {
      w.scale = memory.inputs[scale_input()];
    } else {  // exp 0 of zeros
      fill_zero(w.scale, channel_bytes());
      apply_function(UnaryKind::exponential, w.scale, w.scale, channels_, input(0).dtype, stream());
    }
    if (op_.shift) {
      w.shift = memory.inputs[shift_input()];
    } else {
      fill_zero(w.shift, channel_bytes());
    }
    return w;
  }

  void forward(const NodeMemory& memory) const {
    const Weights w = weights_in(memory);
    check_cudnn(
        cudnn(),
        cudnn().batch_norm_forward(
            cudnn().handle, norm_mode, norm_only, factors_.one(), factors_.zero(), x_.get(),
            memory.inputs[0], nullptr, nullptr, x_.get(), memory.outputs[0], weights_.get(),
            w.scale, w.shift, training_constants::batch_norm_momentum,
            memory.inputs[running_input()], memory.inputs[running_input() + 1], norm_epsilon,
            saved(memory, mean_), saved(memory, inverse_deviation_), nullptr, work(memory),
            work_bytes_, reserve_bytes_ == 0 ? nullptr : saved(memory, reserve_), reserve_bytes_),
        "cudnnBatchNormalizationForwardTrainingEx");
  }

  void inference(const NodeMemory& memory) const {
    const Weights w = weights_in(memory);
    check_cudnn(cudnn(),
                cudnn().batch_norm_inference(cudnn().handle, norm_mode, factors_.one(),
                                             factors_.zero(), x_.get(), memory.inputs[0], x_.get(),
                                             memory.outputs[0], weights_.get(), w.scale, w.shift,
                                             memory.inputs[running_input()],
                                             memory.inputs[running_input() + 1], norm_epsilon),
                "cudnnBatchNormalizationForwardInference");
  }

  // Both gradients of weights are always made; those that nobody asks for stay in the scratch
  // memory.
  void backward(const NodeMemory& memory) const {
    const Weights w = weights_in(memory);
    void* const dscale = op_.scale && makes(memory, scale_input())
                             ? memory.input_gradients[scale_input()]
                             : array(memory, 2);
    void* const dshift = op_.shift && makes(memory, shift_input())
                             ? memory.input_gradients[shift_input()]
                             : array(memory, 3);
    void* const dx = makes(memory, 0) ? memory.input_gradients[0]
                                      : static_cast<char*>(memory.scratch) + unwanted_;
    check_cudnn(
        cudnn(),
        cudnn().batch_norm_backward(
            cudnn().handle, norm_mode, norm_only, factors_.one(), factors_.zero(), factors_.one(),
            factors_.zero(), x_.get(), memory.inputs[0], nullptr, nullptr, x_.get(),
            memory.output_gradients[0], nullptr, nullptr, x_.get(), dx, weights_.get(), w.scale,
            w.shift, dscale, dshift, norm_epsilon, saved(memory, mean_),
            saved(memory, inverse_deviation_), nullptr, work(memory), work_bytes_,
            reserve_bytes_ == 0 ? nullptr : saved(memory, reserve_), reserve_bytes_),
        "cudnnBatchNormalizationBackwardEx");
  }

  BatchNorm op_;
  std::int64_t channels_;
  Factors factors_;
  TensorDescriptor x_, weights_;
  std::size_t work_bytes_ = 0, reserve_bytes_ = 0;
  Scratch saved_, scratch_;
  std::int64_t mean_ = 0, inverse_deviation_ = 0, reserve_ = 0, work_ = 0, unwanted_ = 0;
  std::array<std::int64_t, 4> arrays_{};
};

}  // namespace

KernelsOrReason cudnn_batch_norm(const NodeFacts& facts, const BatchNorm& op) {
  if (bytes_per_element(facts.inputs[0].dtype) < 4)
    return NoKernels{"cuDNN wants weights in fp32 beside tensors of 16 bits"};
  return tried_node(facts, [&] { return std::make_unique<CudnnBatchNormNode>(facts, op); });
}

}  // namespace strata::cuda::train
