// SPDX-License-Identifier: Apache-2.0
// Batch norm: cuDNN, of 16 bits our own kernels. Local response, layer and root-mean-square norm:
// cuDNN, else plain kernels. Group norm: our own kernels.
#include "strata/measure/cuda/kernels/normalization.cuh"

#include "strata/measure/cuda/node.cuh"
#include "strata/measure/cuda/operators/channels.cuh"
#include "strata/measure/engine/constants.hpp"

namespace strata::cuda::train {
namespace {

class BatchNormNode final : public CudaNode {
 public:
  BatchNormNode(NodeFacts facts, const BatchNorm& op) : CudaNode(std::move(facts)), op_(op) {
    const ChannelArray array = image_channels(input(0));
    run_ = {array.rows, array.channels, array.inner, array.dtype};
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.scratch_bytes = 2 * run_.channels * sum_bytes(run_.dtype);
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = 2 * run_.channels * sum_bytes(run_.dtype);
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
    m.statistics = facts().is_training ? memory.saved : memory.scratch;
    m.sums = memory.scratch;
    if (pass == Pass::forward) {
      m.y = memory.outputs[0];
      m.running_mean = memory.inputs[running];
      m.running_variance = memory.inputs[running + 1];
      return batch_norm(run_, m, facts().is_training, stream());
    }
    m.dy = memory.output_gradients[0];
    if (makes(memory, 0)) m.dx = memory.input_gradients[0];
    if (op_.scale && makes(memory, scale)) m.scale_gradient = memory.input_gradients[scale];
    if (op_.shift && makes(memory, shift)) m.shift_gradient = memory.input_gradients[shift];
    batch_norm_gradient(run_, m, stream());
  }

 private:
  BatchNorm op_;
  BatchNormRun run_;
};

class RowNormNode final : public CudaNode {
 public:
  struct Weights {
    bool has_scale, has_shift;
  };
  RowNormNode(NodeFacts facts, const RowNorm& norm, Weights weights, std::string_view name)
      : CudaNode(std::move(facts)), norm_(norm), weights_(weights), name_(name) {}

  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.saved_bytes = 2 * norm_.rows * sum_bytes(norm_.dtype);
    if (weights_.has_scale || weights_.has_shift)
      needs.scratch_bytes = row_norm_scratch_bytes(norm_);
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    RowNormMemory m;
    const std::size_t scale = first_own(), shift = scale + (weights_.has_scale ? 1 : 0);
    m.x = memory.inputs[0];
    m.scale = weights_.has_scale ? memory.inputs[scale] : nullptr;
    m.shift = weights_.has_shift ? memory.inputs[shift] : nullptr;
    m.statistics = facts().is_training ? memory.saved : nullptr;
    m.scratch = memory.scratch;
    if (pass == Pass::forward) {
      m.y = memory.outputs[0];
      return row_norm(norm_, m, stream());
    }
    m.dy = memory.output_gradients[0];
    if (makes(memory, 0)) m.dx = memory.input_gradients[0];
    if (weights_.has_scale && makes(memory, scale))
      m.scale_gradient = memory.input_gradients[scale];
    if (weights_.has_shift && makes(memory, shift))
      m.shift_gradient = memory.input_gradients[shift];
    row_norm_gradient(norm_, m, stream());
  }

  std::string implementation(Pass) const override { return std::string(name_); }

 private:
  RowNorm norm_;
  Weights weights_;
  std::string_view name_;
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

KernelsOrReason make_row_norm(const NodeFacts& facts, const RowNorm& norm,
                              RowNormNode::Weights weights) {
  KernelsOrReason by_cudnn = cudnn_row_norm(facts, norm, weights.has_scale, weights.has_shift);
  if (!std::holds_alternative<NoKernels>(by_cudnn)) return by_cudnn;
  return std::make_unique<RowNormNode>(facts, norm, weights, plain_kernel);
}

class PlainLocalResponseNode final : public CudaNode {
 public:
  PlainLocalResponseNode(NodeFacts facts, std::int64_t size) : CudaNode(std::move(facts)) {
    const ChannelArray array = image_channels(input(0));
    run_ = {array.rows, array.channels, array.inner, size, array.dtype};
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = facts().is_training;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      local_response_norm(run_, memory.outputs[0], memory.inputs[0], stream());
    } else if (makes(memory, 0)) {
      local_response_norm_gradient(run_, memory.input_gradients[0], memory.output_gradients[0],
                                   memory.inputs[0], stream());
    }
  }
  std::string implementation(Pass) const override { return std::string(plain_kernel); }

 private:
  LocalResponseRun run_;
};

}  // namespace

KernelsOrReason make_kernels(const BatchNorm& op, const NodeFacts& facts) {
  KernelsOrReason by_cudnn = cudnn_batch_norm(facts, op);
  if (!std::holds_alternative<NoKernels>(by_cudnn)) return by_cudnn;
  return std::make_unique<BatchNormNode>(facts, op);
}

KernelsOrReason make_kernels(const LayerNorm& op, const NodeFacts& facts) {
  return make_row_norm(facts,
                       rows_from(facts.inputs[0], op.axis, training_constants::layer_norm_epsilon),
                       {op.scale, op.shift});
}

KernelsOrReason make_kernels(const RmsNorm& op, const NodeFacts& facts) {
  RowNorm norm = rows_from(facts.inputs[0], op.axis, training_constants::rms_norm_epsilon);
  norm.takes_mean = false;
  return make_row_norm(facts, norm, {op.scale, false});
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
  return std::make_unique<RowNormNode>(facts, norm, RowNormNode::Weights{op.scale, op.shift},
                                       own_kernel);
}

KernelsOrReason make_kernels(const LocalResponseNorm& op, const NodeFacts& facts) {
  KernelsOrReason by_cudnn = cudnn_local_response_norm(facts, op.size);
  if (!std::holds_alternative<NoKernels>(by_cudnn)) return by_cudnn;
  return std::make_unique<PlainLocalResponseNode>(facts, op.size);
}

}  // namespace strata::cuda::train
