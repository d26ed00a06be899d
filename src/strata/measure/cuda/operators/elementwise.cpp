// SPDX-License-Identifier: Apache-2.0
// Functions of several tensors, and reductions. Gradients of operands that were broadcast are sums.
#include "strata/measure/cuda/kernels/elementwise.cuh"

#include "strata/measure/cuda/kernels/pointwise.cuh"
#include "strata/measure/cuda/kernels/reduce.cuh"
#include "strata/measure/cuda/node.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

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
    for (std::size_t i = 0; i < facts().inputs.size(); ++i) {
      if (const std::optional<RepeatedSum> sum = repeated_sum(i))
        needs.scratch_bytes =
            std::max(needs.scratch_bytes, sum->reduction.scratch_bytes(output().dtype));
    }
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
    StridedAxes axes;
    axes.extents.assign(output().shape.begin(), output().shape.end());
    for (const BoundTensor& in : facts().inputs)
      axes.strides.push_back(broadcast_strides(in.shape, output().shape));
    elementwise(run_of(memory), memory.outputs[0], axes, stream());
  }

  bool are_of_one_type() const {
    return std::all_of(facts().inputs.begin(), facts().inputs.end(),
                       [&](const BoundTensor& in) { return in.dtype == output().dtype; });
  }

  /// The gradient of an operand that is like the result, where it is one operation with dY.
  bool gradient_like_result(const NodeMemory& memory, std::size_t which) const {
    if (!has_equal_shape(input(which), output())) return false;
    void* const dx = memory.input_gradients[which];
    const void* const dy = memory.output_gradients[0];
    const bool passes_on =
        kind_ == ElementwiseKind::add ||
        ((kind_ == ElementwiseKind::subtract || kind_ == ElementwiseKind::modulo) && which == 0);
    if (passes_on) {
      copy(dx, dy, output().bytes);
      return true;
    }
    if (kind_ == ElementwiseKind::subtract) {
      apply_function_gradient(UnaryKind::negate, dx, dy, dy, output().elements, output().dtype,
                              stream());
      return true;
    }
    if (facts().inputs.size() != 2 || !are_of_one_type()) return false;
    const bool is_product = kind_ == ElementwiseKind::multiply;
    if (!is_product && (kind_ != ElementwiseKind::divide || which != 0)) return false;
    const std::size_t other = is_product ? 1 - which : 1;
    ElementwiseRun run;
    run.kind = kind_;
    run.inputs = 2;
    run.input[0] = dy;
    run.input[1] = memory.inputs[other];
    run.input_type[0] = run.input_type[1] = run.y_type = output().dtype;
    StridedAxes axes;
    axes.extents.assign(output().shape.begin(), output().shape.end());
    axes.strides = {dense_strides(output().shape),
                    broadcast_strides(input(other).shape, output().shape)};
    elementwise(run, dx, axes, stream());
    return true;
  }

  /// The gradient of an operand that was repeated, where it is a sum of dY or of dY times the other
  /// operand, which is like the result.
  struct RepeatedSum {
    Reduction reduction;
    double factor = 1;
    std::optional<std::size_t> other = {};
  };
  std::optional<RepeatedSum> repeated_sum(std::size_t which) const {
    if (!are_of_one_type() || has_equal_shape(input(which), output())) return std::nullopt;
    const std::vector<std::int64_t> mine = broadcast_strides(input(which).shape, output().shape);
    std::vector<bool> is_summed;
    for (const std::int64_t stride : mine) is_summed.push_back(stride == 0);
    const Reduction reduction(output().shape, is_summed);
    const auto inputs = static_cast<double>(facts().inputs.size());
    switch (kind_) {
      case ElementwiseKind::add: return RepeatedSum{reduction};
      case ElementwiseKind::mean: return RepeatedSum{reduction, 1 / inputs};
      case ElementwiseKind::subtract: return RepeatedSum{reduction, which == 0 ? 1.0 : -1.0};
      case ElementwiseKind::multiply:
        if (facts().inputs.size() != 2 || !has_equal_shape(input(1 - which), output()))
          return std::nullopt;
        return RepeatedSum{reduction, 1, 1 - which};
      default: return std::nullopt;
    }
  }

  void gradient(const NodeMemory& memory, std::size_t which) const {
    if (gradient_like_result(memory, which)) return;
    if (const std::optional<RepeatedSum> sum = repeated_sum(which)) {
      const ReduceRun sums{.dtype = output().dtype,
                           .term = sum->other ? ReduceTerm::product : ReduceTerm::number,
                           .factor = sum->factor};
      return reduce(sums, memory.input_gradients[which], memory.output_gradients[0],
                    sum->other ? memory.inputs[*sum->other] : nullptr, sum->reduction,
                    memory.scratch, stream());
    }
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
    std::vector<bool> is_reduced(x.axes(), op.axes.empty());
    for (const std::int64_t axis : op.axes) is_reduced[normal_axis(axis, x.axes())] = true;
    reduction_ = Reduction(x.shape, is_reduced);
    std::vector<std::int64_t> kept_extents, first = dense_strides(x.shape);
    for (std::size_t axis = 0; axis < x.axes(); ++axis) {
      kept_extents.push_back(is_reduced[axis] ? 1 : x[axis]);
      if (is_reduced[axis]) first[axis] = 0;
    }
    spread_.extents.assign(x.shape.begin(), x.shape.end());
    spread_.strides.push_back(broadcast_strides(kept_extents, spread_.extents));
    results_ = spread_;
    results_.strides.push_back(first);  // of the first number of the same result
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = needs.outputs =
        facts().is_training && kind_ != ReduceKind::sum && kind_ != ReduceKind::mean;
    needs.scratch_bytes = reduction_.scratch_bytes(input(0).dtype);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      reduce({.kind = kind_, .dtype = input(0).dtype}, memory.outputs[0], memory.inputs[0], nullptr,
             reduction_, memory.scratch, stream());
    } else if (makes(memory, 0) && kind_ == ReduceKind::product) {
      product_gradient(memory.input_gradients[0], memory.output_gradients[0], memory.outputs[0],
                       memory.inputs[0], input(0).dtype, results_, reduction_.reduced, stream());
    } else if (makes(memory, 0)) {
      reduce_gradient(kind_, memory.input_gradients[0], memory.output_gradients[0],
                      memory.outputs[0], memory.inputs[0], input(0).dtype, spread_,
                      reduction_.length(), stream());
    }
  }
  std::string implementation(Pass pass) const override {
    return pass == Pass::forward ? reduction_.implementation() : std::string(own_kernel);
  }

 private:
  ReduceKind kind_;
  Reduction reduction_;
  StridedAxes spread_, results_;
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
