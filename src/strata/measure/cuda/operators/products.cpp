// SPDX-License-Identifier: Apache-2.0
// Linear and MatMul: cuBLASLt. It adds the bias of a linear layer itself, as PyTorch has it do.
#include "strata/measure/cuda/kernels/movement.cuh"
#include "strata/measure/cuda/kernels/reduce.cuh"
#include "strata/measure/cuda/node.cuh"
#include "strata/measure/cuda/operators/channels.cuh"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cuda::train {
namespace {

using SharedProduct = std::shared_ptr<const MatrixProduct>;

/// The last axis has the features.
ChannelArray rows_of(const BoundTensor& y) {
  const std::int64_t features = y.shape.back();
  return {y.elements / features, features, 1, y.dtype};
}

/// Y = X Wᵀ + b, dX = dY W, dW = dYᵀ X, db = Σ dY.
class LinearNode final : public CudaNode {
 public:
  LinearNode(NodeFacts facts, bool has_bias)
      : CudaNode(std::move(facts)), has_bias_(has_bias), bias_(rows_of(output())) {
    const BoundTensor &x = input(0), &y = output();
    const std::int64_t in = x.shape.back(), out = y.shape.back(), rows = y.elements / out;
    MatrixProducts& products = *context().products;
    ProductShape forward = product_of(x.dtype, rows, out, in, false, true);
    forward.has_bias = has_bias;
    if (has_bias) forward_ = products.product_or_nothing(forward);
    is_bias_fused_ = forward_ != nullptr;
    forward.has_bias = false;
    if (!forward_) forward_ = products.product(forward);
    if (!this->facts().is_training) return;
    if (x.wants_gradient)
      input_gradient_ = products.product(product_of(x.dtype, rows, in, out, false, false));
    if (input(first_own()).wants_gradient)
      weight_gradient_ = products.product(product_of(x.dtype, out, in, rows, true, false));
  }

  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (!facts().is_training) return needs;
    needs.inputs = true;
    if (has_bias_) needs.scratch_bytes = bias_.scratch_bytes();
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    const std::size_t weight = first_own(), bias = weight + 1;
    if (pass == Pass::forward) {
      forward_->run(memory.inputs[0], memory.inputs[weight], memory.outputs[0],
                    is_bias_fused_ ? memory.inputs[bias] : nullptr);
      if (has_bias_ && !is_bias_fused_) bias_.add(memory.outputs[0], memory.inputs[bias], stream());
      return;
    }
    const void* const dy = memory.output_gradients[0];
    if (makes(memory, 0))
      input_gradient_->run(dy, memory.inputs[weight], memory.input_gradients[0]);
    if (makes(memory, weight))
      weight_gradient_->run(dy, memory.inputs[0], memory.input_gradients[weight]);
    if (has_bias_ && makes(memory, bias))
      bias_.sum(memory.input_gradients[bias], dy, memory.scratch, stream());
  }

  std::string implementation(Pass pass) const override {
    if (pass == Pass::forward) return forward_->name();
    if (pass == Pass::backward_input) return input_gradient_ ? input_gradient_->name() : "";
    return weight_gradient_ ? weight_gradient_->name() : "";
  }

 private:
  bool has_bias_;
  bool is_bias_fused_ = false;
  ChannelBias bias_;
  SharedProduct forward_, input_gradient_, weight_gradient_;
};

/// Leading axes of the two operands, broadcast; the products run over those that both have, and an
/// operand that is repeated is written out before, its gradient summed after.
class MatMulNode final : public CudaNode {
 public:
  MatMulNode(NodeFacts facts, const MatMul& op) : CudaNode(std::move(facts)), op_(op) {
    const BoundTensor &a = input(0), &b = input(1), &y = output();
    const std::size_t axes = y.axes();
    m_ = y[axes - 2];
    n_ = y[axes - 1];
    k_ = op.transpose_a ? a[a.axes() - 2] : a[a.axes() - 1];
    batch_ = y.elements / (m_ * n_);
    a_ = operand(a);
    b_ = operand(b);
    plan_scratch();
    MatrixProducts& products = *context().products;
    forward_ = products.product(shape(m_, n_, k_, op.transpose_a, op.transpose_b));
    if (!this->facts().is_training) return;
    // Y = A B: dA = dY Bᵀ, dB = Aᵀ dY; of a transposed operand the gradient is transposed.
    a_gradient_ = products.product(op.transpose_a ? shape(k_, m_, n_, op.transpose_b, true)
                                                  : shape(m_, k_, n_, false, !op.transpose_b));
    b_gradient_ = products.product(op.transpose_b ? shape(n_, k_, m_, true, op.transpose_a)
                                                  : shape(k_, n_, m_, !op.transpose_a, false));
  }

  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = facts().is_training;
    needs.scratch_bytes = scratch_.bytes();
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    char* const scratch = static_cast<char*>(memory.scratch);
    char* const a_room = scratch + a_place_;
    char* const b_room = scratch + b_place_;
    char* const gradient_room = scratch + gradient_place_;
    if (pass == Pass::forward) {
      const void* const a = written_out(a_, memory.inputs[0], a_room);
      return forward_->run(a, written_out(b_, memory.inputs[1], b_room), memory.outputs[0]);
    }
    const void* const dy = memory.output_gradients[0];
    if (makes(memory, 0)) {
      const void* const b = written_out(b_, memory.inputs[1], b_room);
      void* const to = a_.is_repeated ? gradient_room : memory.input_gradients[0];
      op_.transpose_a ? a_gradient_->run(b, dy, to) : a_gradient_->run(dy, b, to);
      sum_repeats(a_, memory.input_gradients[0], to, scratch + sums_place_);
    }
    if (makes(memory, 1)) {
      const void* const a = written_out(a_, memory.inputs[0], a_room);
      void* const to = b_.is_repeated ? gradient_room : memory.input_gradients[1];
      op_.transpose_b ? b_gradient_->run(dy, a, to) : b_gradient_->run(a, dy, to);
      sum_repeats(b_, memory.input_gradients[1], to, scratch + sums_place_);
    }
  }

  std::string implementation(Pass pass) const override {
    if (pass == Pass::forward || !a_gradient_) return forward_->name();
    return a_gradient_->name() == b_gradient_->name()
               ? a_gradient_->name()
               : fmt::format("{}, {}", a_gradient_->name(), b_gradient_->name());
  }

 private:
  /// How an operand meets the result's leading axes.
  struct Operand {
    bool is_repeated = false;
    std::int64_t elements = 0;  ///< once written out
    StridedAxes copy;           ///< strides 0: written out, 1: as it is
    Reduction repeats;          ///< of its gradient
  };

  Operand operand(const BoundTensor& tensor) const {
    const std::size_t axes = output().axes();
    std::vector<std::int64_t> target(output().shape.begin(), output().shape.end());
    target[axes - 2] = tensor[tensor.axes() - 2];
    target[axes - 1] = tensor[tensor.axes() - 1];
    Operand operand;
    operand.elements = batch_ * target[axes - 2] * target[axes - 1];
    operand.is_repeated = operand.elements != tensor.elements;
    const std::vector<std::int64_t> from = broadcast_strides(tensor.shape, target);
    const std::vector<std::int64_t> to = dense_strides(target);
    operand.copy = {target, {to, from}};
    std::vector<bool> is_repeated;
    for (std::size_t axis = 0; axis < axes; ++axis)
      is_repeated.push_back(from[axis] == 0 && target[axis] != 1);
    operand.repeats = Reduction(target, is_repeated);
    return operand;
  }

  ProductShape shape(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) const {
    ProductShape product = product_of(output().dtype, m, n, k, ta, tb);
    product.batch = batch_;
    product.a_matrix = m * k;
    product.b_matrix = k * n;
    product.c_matrix = m * n;
    return product;
  }
  /// Written out: both operands, and one gradient at a time.
  void plan_scratch() {
    const std::int64_t bytes = bytes_per_element(output().dtype);
    const auto written = [&](const Operand& one) {
      return one.is_repeated ? one.elements * bytes : 0;
    };
    const auto sums = [&](const Operand& one) {
      return one.is_repeated ? one.repeats.scratch_bytes(output().dtype) : 0;
    };
    a_place_ = scratch_.add(written(a_));
    b_place_ = scratch_.add(written(b_));
    if (!facts().is_training) return;
    gradient_place_ = scratch_.add(std::max(written(a_), written(b_)));
    sums_place_ = scratch_.add(std::max(sums(a_), sums(b_)));
  }
  const void* written_out(const Operand& operand, const void* data, char* room) const {
    if (!operand.is_repeated) return data;
    copy_strided(room, data, bytes_per_element(output().dtype), operand.copy, stream());
    return room;
  }
  void sum_repeats(const Operand& operand, void* gradient, const void* from, void* scratch) const {
    if (operand.is_repeated)
      reduce({.dtype = output().dtype}, gradient, from, nullptr, operand.repeats, scratch,
             stream());
  }

  MatMul op_;
  std::int64_t m_ = 0, n_ = 0, k_ = 0, batch_ = 1;
  Operand a_, b_;
  Scratch scratch_;
  std::int64_t a_place_ = 0, b_place_ = 0, gradient_place_ = 0, sums_place_ = 0;
  SharedProduct forward_, a_gradient_, b_gradient_;
};

}  // namespace

KernelsOrReason make_kernels(const Linear& op, const NodeFacts& facts) {
  if (!facts.context->products) return NoKernels{facts.context->no_products};
  return std::make_unique<LinearNode>(facts, op.bias);
}

KernelsOrReason make_kernels(const MatMul& op, const NodeFacts& facts) {
  if (!facts.context->products) return NoKernels{facts.context->no_products};
  if (facts.inputs[0].dtype != facts.inputs[1].dtype)
    return NoKernels{"a product of different types"};
  return std::make_unique<MatMulNode>(facts, op);
}

}  // namespace strata::cuda::train
