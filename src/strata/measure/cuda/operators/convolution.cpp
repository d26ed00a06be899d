// SPDX-License-Identifier: Apache-2.0
// Convolution: cuDNN or a strategy of the convolution lab. The bias is added by a kernel of its
// own, as PyTorch does it.
#include "strata/base/error.hpp"
#include "strata/measure/cuda/kernels/reduce.cuh"
#include "strata/measure/cuda/node.cuh"
#include "strata/measure/cuda/operators/channels.cuh"
#include "strata/measure/cuda/operators/convolution_algorithms.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::cuda::train {
namespace {

using SharedAlgorithm = std::shared_ptr<ConvAlgorithm>;

/// Of a convolution that is transposed the input of this is y, and the output x.
ConvRequest request_of(const Convolution& op, const NodeFacts& facts) {
  const BoundTensor& x = op.transposed ? facts.outputs[0] : facts.inputs[0];
  const BoundTensor& y = op.transposed ? facts.inputs[0] : facts.outputs[0];
  ConvRequest request;
  request.dtype = x.dtype;
  request.batch = x[0];
  request.channels = x[1];
  request.filters = y[1];
  request.groups = op.groups;
  const std::size_t axes = op.kernel.size(), first = 3 - axes;
  const auto or_default = [](const Extents& extents, std::size_t axis, std::int64_t otherwise) {
    return static_cast<int>(extents.empty() ? otherwise : extents[axis]);
  };
  for (std::size_t axis = 0; axis < axes; ++axis) {
    request.in[first + axis] = static_cast<int>(x[axis + 2]);
    request.out[first + axis] = static_cast<int>(y[axis + 2]);
    request.kernel[first + axis] = static_cast<int>(op.kernel[axis]);
    request.stride[first + axis] = or_default(op.stride, axis, 1);
    request.dilation[first + axis] = or_default(op.dilation, axis, 1);
    request.pad_begin[first + axis] = or_default(op.pad_begin, axis, 0);
    request.pad_end[first + axis] = or_default(op.pad_end, axis, 0);
  }
  return request;
}

class ConvolutionNode final : public CudaNode {
 public:
  ConvolutionNode(NodeFacts facts, const Convolution& op, std::array<SharedAlgorithm, 3> algorithms)
      : CudaNode(std::move(facts)),
        has_bias_(op.bias),
        is_transposed_(op.transposed),
        algorithms_(std::move(algorithms)),
        bias_(output()) {}

  NodeNeeds needs() const override {
    NodeNeeds needs;
    for (const SharedAlgorithm& algorithm : algorithms_) {
      if (algorithm)
        needs.scratch_bytes = std::max(needs.scratch_bytes, algorithm->scratch_bytes());
    }
    if (!facts().is_training) return needs;
    needs.inputs = true;
    if (has_bias_) needs.scratch_bytes = std::max(needs.scratch_bytes, bias_.scratch_bytes());
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    const std::size_t weight = first_own(), bias = weight + 1;
    if (pass == Pass::forward) {
      compute(0, memory.inputs[0], memory.inputs[weight], memory.outputs[0], memory.scratch);
      if (has_bias_) bias_.add(memory.outputs[0], memory.inputs[bias], stream());
      return;
    }
    void* const dy = memory.output_gradients[0];
    if (makes(memory, 0))
      compute(1, memory.input_gradients[0], memory.inputs[weight], dy, memory.scratch);
    if (makes(memory, weight))
      compute(2, memory.inputs[0], memory.input_gradients[weight], dy, memory.scratch);
    if (has_bias_ && makes(memory, bias))
      bias_.sum(memory.input_gradients[bias], dy, memory.scratch, stream());
  }

  std::string implementation(Pass pass) const override {
    const std::size_t which = pass == Pass::forward ? 0 : pass == Pass::backward_input ? 1 : 2;
    return algorithms_[which] ? algorithms_[which]->name() : "";
  }

 private:
  void compute(std::size_t which, void* x, void* weights, void* y, void* scratch) {
    const ConvTensors tensors =
        is_transposed_ ? ConvTensors{y, weights, x} : ConvTensors{x, weights, y};
    if (!algorithms_[which]->run(tensors, scratch))
      fail(ErrorKind::environment, "{} refuses what it did before", algorithms_[which]->name());
  }

  bool has_bias_, is_transposed_;
  std::array<SharedAlgorithm, 3> algorithms_;  ///< forward, input gradient, weight gradient
  ChannelBias bias_;
};

}  // namespace

KernelsOrReason make_kernels(const Convolution& op, const NodeFacts& facts) {
  ConvRequest request = request_of(op, facts);
  TrainingContext& context = *facts.context;
  if (!context.convolutions)
    context.convolutions = std::make_shared<ConvolutionAlgorithms>(context);
  std::array<SharedAlgorithm, 3> algorithms;
  const std::array<ConvPass, 3> passes = {
      op.transposed ? ConvPass::input_gradient : ConvPass::forward,
      op.transposed ? ConvPass::forward : ConvPass::input_gradient, ConvPass::weight_gradient};
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const bool is_wanted =
        i == 0 || (facts.is_training && (i == 1 ? facts.inputs[0].wants_gradient
                                                : facts.inputs[facts.first_own].wants_gradient));
    if (!is_wanted) continue;
    request.pass = passes[i];
    auto found = context.convolutions->algorithm(request);
    if (const auto* reason = std::get_if<std::string>(&found)) return NoKernels{*reason};
    algorithms[i] = std::get<SharedAlgorithm>(std::move(found));
  }
  return std::make_unique<ConvolutionNode>(facts, op, std::move(algorithms));
}

}  // namespace strata::cuda::train
