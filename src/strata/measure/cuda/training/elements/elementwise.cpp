// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/training/node.cuh"
#include "strata/measure/cuda/training/sums/reduce.cuh"

#include <algorithm>
#include <array>

namespace strata::cuda::train {
namespace {

bool has_equal_shape(const BoundTensor& a, const BoundTensor& b) {
  return a.elements == b.elements && a.dtype == b.dtype;
}

class ElementwiseNode final : public CudaNode {
 public:
  ElementwiseNode(NodeFacts facts, ElementwiseKind kind)
      : CudaNode(std::move(facts)), kind_(kind) {}

  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (!facts().is_training) return needs;
    switch (kind_) {
      case ElementwiseKind::multiply:
      case ElementwiseKind::select:
      case ElementwiseKind::modulo: needs.inputs = true; break;
      case ElementwiseKind::divide:
      case ElementwiseKind::power:
      case ElementwiseKind::maximum:
      case ElementwiseKind::minimum: needs.inputs = needs.outputs = true; break;
      default: break;
    }
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) return forward(memory);
    for (std::size_t i = 0; i < facts().inputs.size(); ++i) {
      if (makes(memory, i)) gradient(memory, i);
    }
  }

 private:
  ElementwiseRun run_of(const NodeMemory& memory) const {
    ElementwiseRun run;
    run.kind = kind_;
    run.inputs = static_cast<int>(facts().inputs.size());
    for (std::size_t i = 0; i < facts().inputs.size(); ++i) {
      run.input[i] = memory.inputs[i];
      run.input_type[i] = input(i).dtype;
    }
    run.y_type = output().dtype;
    return run;
  }

  void forward(const NodeMemory& memory) const {
    const bool are_two_equals = facts().inputs.size() == 2 && has_equal_shape(input(0), output()) &&
                                has_equal_shape(input(1), output());
    if (are_two_equals &&
        elementwise_of_equals(kind_, memory.outputs[0], memory.inputs[0], memory.inputs[1],
                              output().elements, output().dtype, stream()))
      return;
    StridedAxes axes;
    axes.extents.assign(output().shape.begin(), output().shape.end());
    for (const BoundTensor& in : facts().inputs)
      axes.strides.push_back(broadcast_strides(in.shape, output().shape));
    elementwise(run_of(memory), memory.outputs[0], axes, stream());
  }

  /// Of two operands like the result, where the gradient is one operation with dY.
  bool gradient_of_equals(const NodeMemory& memory, std::size_t which) const {
    if (facts().inputs.size() != 2 || !has_equal_shape(input(0), output()) ||
        !has_equal_shape(input(1), output()))
      return false;
    void* const dx = memory.input_gradients[which];
    const void* const dy = memory.output_gradients[0];
    if (kind_ == ElementwiseKind::subtract) {
      apply_function_gradient(UnaryKind::negate, dx, dy, dy, output().elements, output().dtype,
                              stream());
      return true;
    }
    const bool is_product = kind_ == ElementwiseKind::multiply;
    if (!is_product && (kind_ != ElementwiseKind::divide || which != 0)) return false;
    return elementwise_of_equals(kind_, dx, dy, memory.inputs[is_product ? 1 - which : 1],
                                 output().elements, output().dtype, stream());
  }

  void gradient(const NodeMemory& memory, std::size_t which) const {
    const bool passes_on =
        kind_ == ElementwiseKind::add ||
        ((kind_ == ElementwiseKind::subtract || kind_ == ElementwiseKind::modulo) && which == 0);
    if (passes_on && has_equal_shape(input(which), output()))
      return copy(memory.input_gradients[which], memory.output_gradients[0], output().bytes);
    if (gradient_of_equals(memory, which)) return;
    ElementwiseRun run = run_of(memory);
    run.dy = memory.output_gradients[0];
    run.y = memory.outputs[0];
    const std::vector<std::int64_t> mine = broadcast_strides(input(which).shape, output().shape);
    // Axes along which the operand was repeated are summed over; the others are its own.
    StridedAxes kept, repeated;
    std::vector<std::vector<std::int64_t>> strides;
    for (const BoundTensor& in : facts().inputs)
      strides.push_back(broadcast_strides(in.shape, output().shape));
    strides.push_back(dense_strides(output().shape));
    kept.strides.resize(strides.size());
    repeated.strides.resize(strides.size());
    for (std::size_t axis = 0; axis < output().axes(); ++axis) {
      const bool is_repeated = mine[axis] == 0;  // an axis of one element is either
      StridedAxes& to = is_repeated ? repeated : kept;
      to.extents.push_back(output()[axis]);
      for (std::size_t i = 0; i < strides.size(); ++i) to.strides[i].push_back(strides[i][axis]);
    }
    elementwise_gradient(run, static_cast<int>(which), memory.input_gradients[which], kept,
                         repeated, stream());
  }

  ElementwiseKind kind_;
};

/// What of x's axes a reduction takes away.
class ReduceNode final : public CudaNode {
 public:
  ReduceNode(NodeFacts facts, const Reduce& op) : CudaNode(std::move(facts)), kind_(op.kind) {
    const BoundTensor& x = input(0);
    std::array<bool, most_axes> is_reduced{};
    if (op.axes.empty()) is_reduced.fill(true);
    for (const std::int64_t axis : op.axes) is_reduced[normal_axis(axis, x.axes())] = true;
    const std::vector<std::int64_t> strides = dense_strides(x.shape);
    kept_.strides.resize(1);
    reduced_.strides.resize(1);
    std::vector<std::int64_t> kept_extents;
    for (std::size_t axis = 0; axis < x.axes(); ++axis) {
      StridedAxes& to = is_reduced[axis] ? reduced_ : kept_;
      to.extents.push_back(x[axis]);
      to.strides[0].push_back(strides[axis]);
      kept_extents.push_back(is_reduced[axis] ? 1 : x[axis]);
    }
    spread_.extents.assign(x.shape.begin(), x.shape.end());
    spread_.strides.push_back(broadcast_strides(kept_extents, spread_.extents));
    results_ = spread_;
    results_.strides.push_back(strides);  // of the first number of the same result
    for (std::size_t axis = 0; axis < x.axes(); ++axis) {
      if (is_reduced[axis]) results_.strides[1][axis] = 0;
    }
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = needs.outputs =
        facts().is_training && kind_ != ReduceKind::sum && kind_ != ReduceKind::mean;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      reduce(kind_, memory.outputs[0], memory.inputs[0], input(0).dtype, kept_, reduced_, stream());
    } else if (makes(memory, 0) && kind_ == ReduceKind::product) {
      product_gradient(memory.input_gradients[0], memory.output_gradients[0], memory.outputs[0],
                       memory.inputs[0], input(0).dtype, results_, reduced_, stream());
    } else if (makes(memory, 0)) {
      reduce_gradient(kind_, memory.input_gradients[0], memory.output_gradients[0],
                      memory.outputs[0], memory.inputs[0], input(0).dtype, spread_,
                      reduced_.elements(), stream());
    }
  }

 private:
  ReduceKind kind_;
  StridedAxes kept_, reduced_, spread_, results_;
};

}  // namespace

KernelsOrReason make_kernels(const Elementwise& op, const NodeFacts& facts) {
  if (facts.inputs.size() == 1) return make_copy(facts);
  if (facts.inputs.size() > most_operands)
    return NoKernels{fmt::format("more than {} operands", most_operands)};
  for (const BoundTensor& in : facts.inputs) {
    if (in.dtype == DType::fp8) return NoKernels{"no arithmetic of fp8"};
  }
  return std::make_unique<ElementwiseNode>(facts, op.kind);
}

KernelsOrReason make_kernels(const Reduce& op, const NodeFacts& facts) {
  return std::make_unique<ReduceNode>(facts, op);
}

}  // namespace strata::cuda::train
