// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/operators/attention.cuh"

#include "strata/measure/cuda/kernels/index_map.cuh"
#include "strata/measure/cuda/trial.cuh"

#include <algorithm>
#include <cmath>

namespace strata::cuda::train {
namespace {

constexpr std::size_t query_input = 0, key_input = 1, value_input = 2, mask_input = 3;

AttentionShape attention_shape(const Attention& op, const NodeFacts& facts) {
  const BoundTensor &q = facts.inputs[query_input], &k = facts.inputs[key_input],
                    &v = facts.inputs[value_input];
  AttentionShape shape;
  shape.batch = q[0];
  shape.heads = op.heads;
  shape.kv_heads = op.kv_heads == 0 ? op.heads : op.kv_heads;
  shape.queries = q[1];
  shape.keys = k[1];
  shape.width = q[2] / op.heads;
  shape.value_width = v[2] / shape.kv_heads;
  shape.is_causal = op.causal;
  shape.dtype = q.dtype;
  shape.is_training = facts.is_training;
  shape.has_mask = facts.inputs.size() > mask_input;
  if (shape.has_mask) {
    const std::vector<std::int64_t> whole = {shape.batch, shape.heads, shape.queries, shape.keys};
    const auto strides = broadcast_strides(facts.inputs[mask_input].shape, whole);
    std::copy_n(strides.begin(), shape.mask_strides.size(), shape.mask_strides.begin());
  }
  const Graph& graph = *facts.bound->graph;
  for (std::size_t i = 0; facts.is_training && i < facts.inputs.size(); ++i) {
    shape.gradients[i] = facts.inputs[i].wants_gradient;
    const TensorId tensor = graph.nodes[facts.id].inputs[i];
    if (shape.gradients[i] && graph.tensors[tensor].kind == TensorKind::parameter)
      shape.is_asked_apart = true;
  }
  return shape;
}

class AttentionNode final : public CudaNode {
 public:
  AttentionNode(NodeFacts facts, std::unique_ptr<AttentionKernels> kernels)
      : CudaNode(std::move(facts)), kernels_(std::move(kernels)) {}

  NodeNeeds needs() const override {
    const AttentionNeeds own = kernels_->needs();
    NodeNeeds needs;
    needs.scratch_bytes = own.scratch_bytes;
    if (!facts().is_training) return needs;
    needs.inputs = true;
    needs.outputs = own.output;
    needs.saved_bytes = own.saved_bytes;
    needs.backward_is_one = own.backward_is_one;
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    AttentionMemory m;
    m.q = memory.inputs[query_input];
    m.k = memory.inputs[key_input];
    m.v = memory.inputs[value_input];
    if (facts().inputs.size() > mask_input) m.mask = memory.inputs[mask_input];
    m.output = memory.outputs[0];
    m.saved = facts().is_training ? memory.saved : nullptr;
    m.scratch = memory.scratch;
    if (pass == Pass::forward) return kernels_->forward(m);
    m.output_gradient = memory.output_gradients[0];
    for (std::size_t i = 0; i < facts().inputs.size(); ++i)
      m.gradients[i] = makes(memory, i) ? memory.input_gradients[i] : nullptr;
    const bool makes_any = std::any_of(m.gradients.begin(), m.gradients.end(),
                                       [](const void* gradient) { return gradient != nullptr; });
    if (makes_any) kernels_->backward(m);
  }

  std::string implementation(Pass) const override { return kernels_->name(); }

 private:
  std::unique_ptr<AttentionKernels> kernels_;
};

}  // namespace

double AttentionShape::scale() const { return 1 / std::sqrt(static_cast<double>(width)); }

KernelsOrReason make_kernels(const Attention& op, const NodeFacts& facts) {
  for (const BoundTensor& in : facts.inputs) {
    if (in.dtype != facts.inputs[0].dtype)
      return NoKernels{"queries, keys, values and mask of different types"};
  }
  const AttentionShape shape = attention_shape(op, facts);
  const auto node_of = [&](AttentionOrReason& made) {
    return std::make_unique<AttentionNode>(
        facts, std::get<std::unique_ptr<AttentionKernels>>(std::move(made)));
  };
  AttentionOrReason fused = cudnn_attention(*facts.context, shape);
  if (!std::holds_alternative<std::string>(fused)) {
    auto node = node_of(fused);
    if (problem_on_zeros(*node, facts).empty()) return node;
  }
  AttentionOrReason by_products = make_product_attention(*facts.context, shape);
  if (const auto* reason = std::get_if<std::string>(&by_products)) return NoKernels{*reason};
  return node_of(by_products);
}

}  // namespace strata::cuda::train
