// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/pooling/pool.cuh"

#include "strata/measure/cuda/node.cuh"

namespace strata::cuda::train {
namespace {

class PoolNode final : public CudaNode {
 public:
  PoolNode(NodeFacts facts, const PoolRun& run) : CudaNode(std::move(facts)), run_(run) {
    run_.dtype = input(0).dtype;
    run_.planes = input(0)[0] * input(0)[1];
    spatial_extents(input(0), run_.in);
    spatial_extents(output(), run_.out);
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (keeps_notes()) needs.saved_bytes = note_bytes(run_);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      pool(run_, memory.outputs[0], keeps_notes() ? memory.saved : nullptr, memory.inputs[0],
           stream());
    } else if (makes(memory, 0)) {
      pool_gradient(run_, memory.input_gradients[0], memory.output_gradients[0], memory.saved,
                    stream());
    }
  }

 private:
  bool keeps_notes() const { return run_.kind == PoolKind::maximum && facts().is_training; }
  PoolRun run_;
};

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
  return std::make_unique<PoolNode>(facts, run);
}

KernelsOrReason make_kernels(const AdaptivePool& op, const NodeFacts& facts) {
  PoolRun run;
  run.kind = op.kind;
  run.is_adaptive = true;
  return std::make_unique<PoolNode>(facts, run);
}

}  // namespace strata::cuda::train
