// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/tensor_descriptor.cuh"
#include "strata/measure/cuda/cudnn/tried_node.cuh"

#include <fmt/format.h>

#include <optional>

namespace strata::cuda::train {
namespace {

/// Windows as cuDNN knows them: equal padding at both ends, no dilation, none that reaches beyond
/// the padded input. Nothing where they are others.
std::optional<PoolRun> cudnn_windows(PoolRun run) {
  for (int axis = 0; axis < 3; ++axis) {
    if (run.is_adaptive) {
      if (run.in[axis] % run.out[axis] != 0) return std::nullopt;
      run.kernel[axis] = run.stride[axis] = run.in[axis] / run.out[axis];
    }
    const int room = run.in[axis] + 2 * run.pad[axis] - run.kernel[axis];
    const bool is_usual = run.dilation[axis] == 1 && run.pad[axis] < run.kernel[axis] &&
                          room >= 0 && room / run.stride[axis] + 1 == run.out[axis];
    if (!is_usual) return std::nullopt;
  }
  return run;
}

/// Windows and tensors, described.
class PoolCall {
 public:
  PoolCall(Cudnn cudnn, const PoolRun& run, std::int64_t batch)
      : cudnn_(std::move(cudnn)),
        factors_(run.dtype),
        x_(cudnn_, run.dtype, extents(run, batch, run.in)),
        y_(cudnn_, run.dtype, extents(run, batch, run.out)) {
    refuse_unless(*cudnn_, cudnn_->create_pooling(&windows_), "cudnnCreatePoolingDescriptor");
    const int first = first_axis(run);
    const cudnnPoolingMode_t mode = run.kind == PoolKind::maximum ? CUDNN_POOLING_MAX
                                    : run.counts_padding
                                        ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                        : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    const cudnnStatus_t status =
        cudnn_->set_pooling_nd(windows_, mode, CUDNN_PROPAGATE_NAN, 3 - first, run.kernel + first,
                               run.pad + first, run.stride + first);
    if (status == CUDNN_STATUS_SUCCESS) return;
    cudnn_->destroy_pooling(windows_);
    refuse_unless(*cudnn_, status, "cudnnSetPoolingNdDescriptor");
  }
  ~PoolCall() { cudnn_->destroy_pooling(windows_); }
  PoolCall(const PoolCall&) = delete;
  PoolCall& operator=(const PoolCall&) = delete;

  cudnnStatus_t forward(void* y, const void* x) const {
    return cudnn_->pooling_forward(cudnn_->handle, windows_, factors_.one(), x_.get(), x,
                                   factors_.zero(), y_.get(), y);
  }
  cudnnStatus_t backward(void* dx, const void* dy, const void* y, const void* x) const {
    return cudnn_->pooling_backward(cudnn_->handle, windows_, factors_.one(), y_.get(), y, y_.get(),
                                    dy, x_.get(), x, factors_.zero(), x_.get(), dx);
  }

 private:
  /// cuDNN wants two spatial axes or three: the first of ours that it is told of.
  static int first_axis(const PoolRun& run) { return run.in[0] == 1 && run.kernel[0] == 1 ? 1 : 0; }
  static std::vector<std::int64_t> extents(const PoolRun& run, std::int64_t batch,
                                           const int (&space)[3]) {
    std::vector<std::int64_t> all = {batch, run.planes / batch};
    for (int axis = first_axis(run); axis < 3; ++axis) all.push_back(space[axis]);
    return all;
  }

  Cudnn cudnn_;
  Factors factors_;
  TensorDescriptor x_, y_;
  cudnnPoolingDescriptor_t windows_ = nullptr;
};

class CudnnPoolNode final : public CudaNode {
 public:
  CudnnPoolNode(NodeFacts facts, const PoolRun& run)
      : CudaNode(std::move(facts)), call_(context().cudnn, run, input(0)[0]) {}

  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = needs.outputs = facts().is_training;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    const CudnnFunctions& cudnn = *context().cudnn;
    if (pass == Pass::forward) {
      check_cudnn(cudnn, call_.forward(memory.outputs[0], memory.inputs[0]), "cudnnPoolingForward");
    } else if (makes(memory, 0)) {
      check_cudnn(cudnn,
                  call_.backward(memory.input_gradients[0], memory.output_gradients[0],
                                 memory.outputs[0], memory.inputs[0]),
                  "cudnnPoolingBackward");
    }
  }
  std::string implementation(Pass) const override {
    return fmt::format("{} pooling (legacy call)", cudnn_version_text(*context().cudnn));
  }

 private:
  PoolCall call_;
};

}  // namespace

KernelsOrReason cudnn_pool(const NodeFacts& facts, const PoolRun& run) {
  const std::optional<PoolRun> windows = cudnn_windows(run);
  if (!windows) return NoKernels{"cuDNN has no such windows"};
  return tried_node(facts, [&] { return std::make_unique<CudnnPoolNode>(facts, *windows); });
}

}  // namespace strata::cuda::train
