// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/norms/normalization.cuh"

#include "strata/measure/cuda/node.cuh"
#include "strata/measure/engine/constants.hpp"

namespace strata::cuda::train {
namespace {

class BatchNormNode final : public CudaNode {
 public:
  BatchNormNode(NodeFacts facts, const BatchNorm& op)
      : CudaNode(std::move(facts)), op_(op), array_(image_channels(input(0))) {}

  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = 2 * array_.channels * sum_bytes(array_.dtype);
    needs.scratch_bytes = batch_norm_scratch(array_) * sum_bytes(array_.dtype);
    needs.backward_is_one = true;
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    BatchNormMemory m;
    const std::size_t scale = first_own(), shift = scale + (op_.scale ? 1 : 0);
    const std::size_t running = shift + (op_.shift ? 1 : 0);
    m.x = memory.inputs[0];
    m.scale = op_.scale ? memory.inputs[scale] : nullptr;
    m.shift = op_.shift ? memory.inputs[shift] : nullptr;
    m.statistics = memory.saved;
    m.scratch = memory.scratch;
    if (pass == Pass::forward) {
      m.y = memory.outputs[0];
      m.running_mean = memory.inputs[running];
      m.running_variance = memory.inputs[running + 1];
      return facts().is_training ? batch_norm(array_, m, stream())
                                 : batch_norm_of_running(array_, m, stream());
    }
    m.dy = memory.output_gradients[0];
    if (makes(memory, 0)) m.dx = memory.input_gradients[0];
    if (op_.scale && makes(memory, scale)) m.scale_gradient = memory.input_gradients[scale];
    if (op_.shift && makes(memory, shift)) m.shift_gradient = memory.input_gradients[shift];
    batch_norm_gradient(array_, m, stream());
  }

 private:
  BatchNorm op_;
  ChannelArray array_;
};

/// Layer, group and root-mean-square normalisation.
class RowNormNode final : public CudaNode {
 public:
  RowNormNode(NodeFacts facts, const RowNorm& norm, bool has_scale, bool has_shift)
      : CudaNode(std::move(facts)), norm_(norm), has_scale_(has_scale), has_shift_(has_shift) {}

  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = 2 * norm_.rows * sum_bytes(norm_.dtype);
    if (!has_scale_ && !has_shift_) return needs;
    needs.scratch_bytes = row_norm_scratch(norm_) * sum_bytes(norm_.dtype);
    needs.backward_is_one = row_norm_gradient_is_one(norm_);
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    RowNormMemory m;
    const std::size_t scale = first_own(), shift = scale + (has_scale_ ? 1 : 0);
    m.x = memory.inputs[0];
    m.scale = has_scale_ ? memory.inputs[scale] : nullptr;
    m.shift = has_shift_ ? memory.inputs[shift] : nullptr;
    m.statistics = memory.saved;
    m.scratch = memory.scratch;
    if (pass == Pass::forward) {
      m.y = memory.outputs[0];
      return row_norm(norm_, m, stream());
    }
    m.dy = memory.output_gradients[0];
    if (makes(memory, 0)) m.dx = memory.input_gradients[0];
    if (has_scale_ && makes(memory, scale)) m.scale_gradient = memory.input_gradients[scale];
    if (has_shift_ && makes(memory, shift)) m.shift_gradient = memory.input_gradients[shift];
    row_norm_gradient(norm_, m, stream());
  }

 private:
  RowNorm norm_;
  bool has_scale_, has_shift_;
};

class LocalResponseNode final : public CudaNode {
 public:
  LocalResponseNode(NodeFacts facts, std::int64_t size)
      : CudaNode(std::move(facts)), size_(size), array_(image_channels(input(0))) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = needs.outputs = facts().is_training;
    // Without backward nobody asks for the scale, and it is left in the scratch memory.
    (facts().is_training ? needs.saved_bytes : needs.scratch_bytes) = input(0).bytes;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      local_response_norm(array_, size_, memory.outputs[0],
                          facts().is_training ? memory.saved : memory.scratch, memory.inputs[0],
                          stream());
    } else if (makes(memory, 0)) {
      local_response_norm_gradient(array_, size_, memory.input_gradients[0],
                                   memory.output_gradients[0], memory.inputs[0], memory.outputs[0],
                                   memory.saved, stream());
    }
  }

 private:
  std::int64_t size_;
  ChannelArray array_;
};

/// Over the axes from `axis` to the last.
RowNorm rows_from(const BoundTensor& x, std::int64_t axis, double epsilon) {
  RowNorm norm;
  norm.dtype = x.dtype;
  norm.epsilon = epsilon;
  for (std::size_t i = 0; i < normal_axis(axis, x.axes()); ++i) norm.rows *= x[i];
  norm.length = x.elements / norm.rows;
  return norm;
}

}  // namespace

KernelsOrReason make_kernels(const BatchNorm& op, const NodeFacts& facts) {
  return std::make_unique<BatchNormNode>(facts, op);
}

KernelsOrReason make_kernels(const LayerNorm& op, const NodeFacts& facts) {
  return std::make_unique<RowNormNode>(
      facts, rows_from(facts.inputs[0], op.axis, training_constants::layer_norm_epsilon), op.scale,
      op.shift);
}

KernelsOrReason make_kernels(const RmsNorm& op, const NodeFacts& facts) {
  RowNorm norm = rows_from(facts.inputs[0], op.axis, training_constants::rms_norm_epsilon);
  norm.takes_mean = false;
  return std::make_unique<RowNormNode>(facts, norm, op.scale, false);
}

KernelsOrReason make_kernels(const GroupNorm& op, const NodeFacts& facts) {
  const BoundTensor& x = facts.inputs[0];
  RowNorm norm;
  norm.dtype = x.dtype;
  norm.epsilon = training_constants::group_norm_epsilon;
  norm.groups = op.groups == 0 ? x[1] : op.groups;
  norm.rows = x[0] * norm.groups;
  norm.length = x.elements / norm.rows;
  norm.inner = x.elements / (x[0] * x[1]);
  return std::make_unique<RowNormNode>(facts, norm, op.scale, op.shift);
}

KernelsOrReason make_kernels(const LocalResponseNorm& op, const NodeFacts& facts) {
  return std::make_unique<LocalResponseNode>(facts, op.size);
}

}  // namespace strata::cuda::train
