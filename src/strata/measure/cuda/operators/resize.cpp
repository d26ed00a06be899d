// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/kernels/movement.cuh"
#include "strata/measure/cuda/node.cuh"

namespace strata::cuda::train {
namespace {

class ResizeNode final : public CudaNode {
 public:
  ResizeNode(NodeFacts facts, ResizeKind kind) : CudaNode(std::move(facts)) {
    run_.kind = kind;
    run_.dtype = input(0).dtype;
    run_.planes = input(0)[0] * input(0)[1];
    spatial_extents(input(0), run_.in);
    spatial_extents(output(), run_.out);
  }
  NodeNeeds needs() const override { return {}; }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      resize(run_, memory.outputs[0], memory.inputs[0], stream());
    } else if (makes(memory, 0)) {
      resize_gradient(run_, memory.input_gradients[0], memory.output_gradients[0], stream());
    }
  }

 private:
  ResizeRun run_;
};

}  // namespace

KernelsOrReason make_kernels(const Resize& op, const NodeFacts& facts) {
  if (facts.inputs[0].shape == facts.outputs[0].shape) return make_copy(facts);
  return std::make_unique<ResizeNode>(facts, op.kind);
}

}  // namespace strata::cuda::train
