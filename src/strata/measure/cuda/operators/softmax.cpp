// SPDX-License-Identifier: Apache-2.0
// Softmax: cuDNN, else a plain kernel. Losses: our own kernels.
#include "strata/measure/cuda/kernels/softmax.cuh"

#include "strata/measure/cuda/node.cuh"

namespace strata::cuda::train {
namespace {

SoftmaxRun along(const BoundTensor& x, std::int64_t axis) {
  const std::size_t middle = normal_axis(axis, x.axes());
  SoftmaxRun run;
  run.dtype = x.dtype;
  for (std::size_t i = 0; i < middle; ++i) run.outer *= x[i];
  run.length = x[middle];
  run.inner = x.elements / run.outer / run.length;
  return run;
}

class PlainSoftmaxNode final : public CudaNode {
 public:
  PlainSoftmaxNode(NodeFacts facts, const SoftmaxRun& run)
      : CudaNode(std::move(facts)), run_(run) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.outputs = facts().is_training;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      softmax(run_, memory.outputs[0], memory.inputs[0], stream());
    } else if (makes(memory, 0)) {
      softmax_gradient(run_, memory.input_gradients[0], memory.output_gradients[0],
                       memory.outputs[0], stream());
    }
  }
  std::string implementation(Pass) const override { return std::string(plain_kernel); }

 private:
  SoftmaxRun run_;
};

/// Keeps a number per row, from which the probabilities come again.
class CrossEntropyNode final : public CudaNode {
 public:
  CrossEntropyNode(NodeFacts facts, std::int64_t axis)
      : CudaNode(std::move(facts)), run_(along(input(0), axis)) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.scratch_bytes = run_.rows() * sum_bytes(run_.dtype);
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = run_.rows() * sum_bytes(run_.dtype);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    CrossEntropyMemory m;
    m.logits = memory.inputs[0];
    m.targets = memory.inputs[1];
    m.targets_are_64_bit = input(1).dtype == DType::int64;
    m.log_sums = facts().is_training ? memory.saved : nullptr;
    m.row_losses = memory.scratch;
    if (pass == Pass::forward) {
      cross_entropy(run_, m, memory.outputs[0], stream());
    } else if (makes(memory, 0)) {
      cross_entropy_gradient(run_, m, memory.input_gradients[0], memory.output_gradients[0],
                             stream());
    }
  }

 private:
  SoftmaxRun run_;
};

class SquaredErrorNode final : public CudaNode {
 public:
  using CudaNode::CudaNode;
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = facts().is_training;
    needs.scratch_bytes = squared_error_partials * sum_bytes(input(0).dtype);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    const DType dtype = input(0).dtype;
    if (pass == Pass::forward)
      return squared_error(memory.outputs[0], memory.inputs[0], memory.inputs[1], input(0).elements,
                           dtype, memory.scratch, stream());
    void* const da = makes(memory, 0) ? memory.input_gradients[0] : nullptr;
    void* const db = makes(memory, 1) ? memory.input_gradients[1] : nullptr;
    if (da == nullptr && db == nullptr) return;
    squared_error_gradient(da, db, memory.inputs[0], memory.inputs[1], memory.output_gradients[0],
                           input(0).elements, dtype, stream());
  }
};

}  // namespace

KernelsOrReason make_kernels(const Softmax& op, const NodeFacts& facts) {
  SoftmaxRun run = along(facts.inputs[0], op.axis);
  run.is_log = op.log;
  KernelsOrReason by_cudnn = cudnn_softmax(facts, run);
  if (!std::holds_alternative<NoKernels>(by_cudnn)) return by_cudnn;
  return std::make_unique<PlainSoftmaxNode>(facts, run);
}

KernelsOrReason make_kernels(const SoftmaxCrossEntropy& op, const NodeFacts& facts) {
  if (facts.inputs[1].dtype != DType::int64 && facts.inputs[1].dtype != DType::int32)
    return NoKernels{fmt::format("no targets of {}", name_of(facts.inputs[1].dtype))};
  return std::make_unique<CrossEntropyNode>(facts, op.axis);
}

KernelsOrReason make_kernels(const SquaredError&, const NodeFacts& facts) {
  if (facts.inputs[0].dtype != facts.inputs[1].dtype)
    return NoKernels{"prediction and target of different types"};
  return std::make_unique<SquaredErrorNode>(facts);
}

}  // namespace strata::cuda::train
