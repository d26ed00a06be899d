// SPDX-License-Identifier: Apache-2.0
// Functions of single numbers: our own kernels.
#include "strata/measure/cuda/kernels/pointwise.cuh"

#include "strata/measure/cuda/kernels/elementwise.cuh"
#include "strata/measure/cuda/kernels/reduce.cuh"
#include "strata/measure/cuda/node.cuh"
#include "strata/measure/cuda/operators/channels.cuh"

#include <fmt/format.h>

namespace strata::cuda::train {
namespace {

class CopyNode final : public CudaNode {
 public:
  using CudaNode::CudaNode;
  NodeNeeds needs() const override { return {}; }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      copy(memory.outputs[0], memory.inputs[0], output().bytes);
    } else if (makes(memory, 0)) {
      copy(memory.input_gradients[0], memory.output_gradients[0], input(0).bytes);
    }
  }
  std::string implementation(Pass) const override { return "cudaMemcpyAsync"; }
};

class UnaryNode final : public CudaNode {
 public:
  UnaryNode(NodeFacts facts, UnaryKind kind) : CudaNode(std::move(facts)), kind_(kind) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (!facts().is_training || !function_has_gradient(kind_)) return needs;
    needs.outputs = function_keeps_output(kind_);
    needs.inputs = !needs.outputs && kind_ != UnaryKind::negate;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    const std::int64_t count = input(0).elements;
    if (pass == Pass::forward) {
      apply_function(kind_, memory.outputs[0], memory.inputs[0], count, input(0).dtype, stream());
    } else if (makes(memory, 0) && !function_has_gradient(kind_)) {
      fill_zero(memory.input_gradients[0], input(0).bytes);
    } else if (makes(memory, 0)) {
      const void* const kept = function_keeps_output(kind_) ? memory.outputs[0] : memory.inputs[0];
      apply_function_gradient(kind_, memory.input_gradients[0], memory.output_gradients[0], kept,
                              count, input(0).dtype, stream());
    }
  }

 private:
  UnaryKind kind_;
};

/// Of any type into booleans: everything is a number that is zero or not.
class LogicalNotNode final : public CudaNode {
 public:
  using CudaNode::CudaNode;
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.scratch_bytes = bytes_per_element(input(0).dtype);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass != Pass::forward) return;
    // not a = (a = 0), with a zero that is repeated: the number 0 of the input's own type.
    ElementwiseRun run;
    run.kind = ElementwiseKind::equal;
    run.inputs = 2;
    run.input[0] = memory.inputs[0];
    run.input_type[0] = input(0).dtype;
    run.input[1] = memory.scratch;
    run.input_type[1] = input(0).dtype;
    run.y_type = output().dtype;
    fill_zero(memory.scratch, bytes_per_element(input(0).dtype));
    StridedAxes axes;
    axes.extents = {output().elements};
    axes.strides = {{1}, {0}};
    elementwise(run, memory.outputs[0], axes, stream());
  }
};

/// One slope for each channel.
class PreluNode final : public CudaNode {
 public:
  explicit PreluNode(NodeFacts facts) : CudaNode(std::move(facts)) {
    const ChannelArray array = image_channels(input(0));
    extents_ = {array.rows, array.channels, array.inner};
    reduction_ = Reduction(extents_, {true, false, true});
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = true;
    needs.scratch_bytes = reduction_.scratch_bytes(input(0).dtype);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    const std::size_t slope = first_own();
    const std::vector<std::int64_t> dense = dense_strides(extents_), of_slope = {0, 1, 0};
    const void* const dy = pass == Pass::forward ? nullptr : memory.output_gradients[0];
    if (pass == Pass::forward)
      return parametric_relu(memory.outputs[0], memory.inputs[0], memory.inputs[slope],
                             {extents_, {dense, of_slope}}, input(0).dtype, stream());
    if (makes(memory, 0))
      parametric_relu_gradient(memory.input_gradients[0], dy, memory.inputs[0],
                               memory.inputs[slope], {extents_, {dense, dense, of_slope}},
                               input(0).dtype, stream());
    if (makes(memory, slope))
      reduce({.dtype = input(0).dtype, .term = ReduceTerm::negative_part},
             memory.input_gradients[slope], dy, memory.inputs[0], reduction_, memory.scratch,
             stream());
  }

 private:
  std::vector<std::int64_t> extents_;
  Reduction reduction_;
};

class DropoutNode final : public CudaNode {
 public:
  DropoutNode(NodeFacts facts, double probability) : CudaNode(std::move(facts)) {
    run_.node = this->facts().id;
    run_.probability = probability;
    run_.count = input(0).elements;
    run_.dtype = input(0).dtype;
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.saved_bytes = run_.count;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    auto* const mask = static_cast<std::uint8_t*>(memory.saved);
    if (pass == Pass::forward) {
      drop_out(run_, memory.outputs[0], mask, memory.inputs[0], stream());
    } else if (makes(memory, 0)) {
      drop_out_gradient(run_, memory.input_gradients[0], mask, memory.output_gradients[0],
                        stream());
    }
  }

 private:
  DropoutRun run_;
};

class RotaryNode final : public CudaNode {
 public:
  RotaryNode(NodeFacts facts, std::int64_t heads) : CudaNode(std::move(facts)) {
    run_.samples = input(0)[0];
    run_.times = input(0)[1];
    run_.heads = heads;
    run_.pairs = input(0)[2] / heads / 2;
    run_.dtype = input(0).dtype;
  }
  NodeNeeds needs() const override { return {}; }
  void run(Pass pass, const NodeMemory& memory) override {
    const void* const cosine = memory.inputs[first_own()];
    const void* const sine = memory.inputs[first_own() + 1];
    RotaryRun run = run_;
    run.is_reversed = pass != Pass::forward;
    if (pass == Pass::forward) {
      rotate(run, memory.outputs[0], memory.inputs[0], cosine, sine, stream());
    } else if (makes(memory, 0)) {
      rotate(run, memory.input_gradients[0], memory.output_gradients[0], cosine, sine, stream());
    }
  }

 private:
  RotaryRun run_;
};

class CastNode final : public CudaNode {
 public:
  using CudaNode::CudaNode;
  NodeNeeds needs() const override { return {}; }
  void run(Pass pass, const NodeMemory& memory) override {
    const DType from = input(0).dtype, to = output().dtype;
    if (pass == Pass::forward) {
      convert(memory.outputs[0], to, memory.inputs[0], from, output().elements, stream());
    } else if (makes(memory, 0)) {
      convert(memory.input_gradients[0], from, memory.output_gradients[0], to, output().elements,
              stream());
    }
  }
};

class YoloNode final : public CudaNode {
 public:
  YoloNode(NodeFacts facts, std::int64_t entries) : CudaNode(std::move(facts)) {
    const ChannelArray array = image_channels(input(0));
    run_ = {input(0).elements, entries, array.inner, array.dtype};
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.outputs = facts().is_training;
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      yolo(run_, memory.outputs[0], memory.inputs[0], stream());
    } else if (makes(memory, 0)) {
      yolo_gradient(run_, memory.input_gradients[0], memory.output_gradients[0], memory.outputs[0],
                    stream());
    }
  }

 private:
  YoloRun run_;
};

}  // namespace

KernelsOrReason make_copy(const NodeFacts& facts) { return std::make_unique<CopyNode>(facts); }

KernelsOrReason make_kernels(const Unary& op, const NodeFacts& facts) {
  if (op.kind == UnaryKind::identity) return make_copy(facts);
  if (op.kind == UnaryKind::logical_not) return std::make_unique<LogicalNotNode>(facts);
  if (!is_computed(facts.inputs[0].dtype))
    return NoKernels{fmt::format("no functions of {}", name_of(facts.inputs[0].dtype))};
  if (op.kind == UnaryKind::prelu) return std::make_unique<PreluNode>(facts);
  return std::make_unique<UnaryNode>(facts, op.kind);
}

KernelsOrReason make_kernels(const Dropout& op, const NodeFacts& facts) {
  if (!facts.is_training || op.probability == 0) return make_copy(facts);
  return std::make_unique<DropoutNode>(facts, op.probability);
}

KernelsOrReason make_kernels(const RotaryEmbedding& op, const NodeFacts& facts) {
  return std::make_unique<RotaryNode>(facts, op.heads);
}

KernelsOrReason make_kernels(const Cast&, const NodeFacts& facts) {
  if (facts.inputs[0].dtype == facts.outputs[0].dtype) return make_copy(facts);
  if (facts.inputs[0].dtype == DType::fp8 || facts.outputs[0].dtype == DType::fp8)
    return NoKernels{"no conversion from or to fp8"};
  return std::make_unique<CastNode>(facts);
}

KernelsOrReason make_kernels(const Yolo& op, const NodeFacts& facts) {
  return std::make_unique<YoloNode>(facts, op.classes + 5);
}

}  // namespace strata::cuda::train
