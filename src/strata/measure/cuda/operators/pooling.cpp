// SPDX-License-Identifier: Apache-2.0
// Pooling: cuDNN, and a plain kernel for dilated, ragged and uneven adaptive windows.
#include "strata/measure/cuda/kernels/pool.cuh"
#include "strata/measure/cuda/node.cuh"

namespace strata::cuda::train {
namespace {

class PlainPoolNode final : public CudaNode {
 public:
  PlainPoolNode(NodeFacts facts, const PoolRun& run) : CudaNode(std::move(facts)), run_(run) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (keeps_argmax()) needs.saved_bytes = run_.planes * run_.out_plane() * 4;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    auto* const argmax = keeps_argmax() ? static_cast<std::int32_t*>(memory.saved) : nullptr;
    if (pass == Pass::forward) {
      pool(run_, memory.outputs[0], argmax, memory.inputs[0], stream());
    } else if (makes(memory, 0)) {
      pool_gradient(run_, memory.input_gradients[0], memory.output_gradients[0], argmax, stream());
    }
  }
  std::string implementation(Pass) const override { return std::string(plain_kernel); }

 private:
  bool keeps_argmax() const { return run_.kind == PoolKind::maximum && facts().is_training; }
  PoolRun run_;
};

KernelsOrReason make_pool(const NodeFacts& facts, PoolRun run) {
  run.dtype = facts.inputs[0].dtype;
  run.planes = facts.inputs[0][0] * facts.inputs[0][1];
  spatial_extents(facts.inputs[0], run.in);
  spatial_extents(facts.outputs[0], run.out);
  KernelsOrReason by_cudnn = cudnn_pool(facts, run);
  if (!std::holds_alternative<NoKernels>(by_cudnn)) return by_cudnn;
  return std::make_unique<PlainPoolNode>(facts, run);
}

}  // namespace

KernelsOrReason make_kernels(const Pool& op, const NodeFacts& facts) {
  PoolRun run;
  run.kind = op.kind;
  run.counts_padding = op.count_include_pad;
  const std::size_t axes = op.kernel.size();
  const auto set = [&](int(&to)[3], const Extents& from) {
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      to[3 - axes + axis] = static_cast<int>(from[axis]);
  };
  set(run.kernel, op.kernel);
  set(run.stride, op.stride);
  set(run.dilation, op.dilation);
  set(run.pad, op.pad_begin);
  return make_pool(facts, run);
}

KernelsOrReason make_kernels(const AdaptivePool& op, const NodeFacts& facts) {
  PoolRun run;
  run.kind = op.kind;
  run.is_adaptive = true;
  return make_pool(facts, run);
}

}  // namespace strata::cuda::train
