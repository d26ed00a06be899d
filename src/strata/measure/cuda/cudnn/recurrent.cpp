// SPDX-License-Identifier: Apache-2.0
// Recurrent layers by cuDNN. It keeps all weights in one space of its own layout: they are copied
// there before each forward pass, and their gradients back, which is part of what it takes.
#include "strata/measure/cuda/cudnn/rnn.cuh"
#include "strata/measure/cuda/cudnn/tried_node.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace strata::cuda::train {
namespace {

std::string_view cell_name(CellKind cell) {
  switch (cell) {
    case CellKind::lstm: return "LSTM";
    case CellKind::gru: return "GRU";
    case CellKind::rnn_relu:
    case CellKind::rnn_tanh: break;
  }
  return "RNN";
}

class CudnnRecurrentNode final : public CudaNode {
 public:
  CudnnRecurrentNode(NodeFacts facts, const RnnShape& shape)
      : CudaNode(std::move(facts)), shape_(shape), plan_(context().cudnn, shape) {
    weights_ = kept_.add(as_signed(plan_.weight_bytes));
    reserve_ = kept_.add(as_signed(plan_.reserve_bytes));
    work_ = scratch_.add(as_signed(plan_.work_bytes));
    if (!shape.is_training) return;
    gradients_ = scratch_.add(as_signed(plan_.weight_bytes));
    // Gradients that the network has no use for, or does not have.
    no_result_gradient_ = scratch_.add(output().bytes);
    no_input_gradient_ = scratch_.add(input(0).bytes);
  }

  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.backward_is_one = true;
    needs.scratch_bytes = scratch_.bytes() + (shape_.is_training ? 0 : kept_.bytes());
    if (!shape_.is_training) return needs;
    needs.inputs = needs.outputs = true;
    needs.saved_bytes = kept_.bytes();
    return needs;
  }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) return forward(memory);
    if (pass == Pass::backward) backward(memory);
  }

  std::string implementation(Pass) const override {
    return fmt::format("{} {}", cudnn_version_text(plan_.cudnn()), cell_name(shape_.op.cell));
  }

 private:
  static std::int64_t as_signed(std::size_t bytes) { return static_cast<std::int64_t>(bytes); }
  char* kept(const NodeMemory& memory, std::int64_t offset) const {
    char* const base = shape_.is_training ? static_cast<char*>(memory.saved)
                                          : static_cast<char*>(memory.scratch) + scratch_.bytes();
    return base + offset;
  }
  char* scratch(const NodeMemory& memory, std::int64_t offset) const {
    return static_cast<char*>(memory.scratch) + offset;
  }
  /// A state that is given to the layer or left by it; null where there is none.
  static void* state(const std::vector<void*>& tensors, std::size_t which, std::size_t end) {
    return which < std::min(tensors.size(), end) ? tensors[which] : nullptr;
  }
  void* given(const std::vector<void*>& tensors, std::size_t which) const {
    return state(tensors, which, first_own());
  }
  static void* left(const std::vector<void*>& tensors, std::size_t which) {
    return state(tensors, which, tensors.size());
  }
  void check(cudnnStatus_t status, const char* call) const {
    check_cudnn(plan_.cudnn(), status, call);
  }

  void forward(const NodeMemory& memory) {
    char* const weights = kept(memory, weights_);
    for (const WeightPiece& piece : plan_.pieces)
      copy(weights + piece.space_byte,
           static_cast<char*>(memory.inputs[first_own() + piece.tensor]) + piece.at_byte,
           piece.bytes);
    check(plan_.cudnn().rnn_forward(plan_.handle(), plan_.layer, plan_.mode(), nullptr, plan_.x,
                                    memory.inputs[0], plan_.y, memory.outputs[0], plan_.h,
                                    given(memory.inputs, 1), left(memory.outputs, 1), plan_.c,
                                    given(memory.inputs, 2), left(memory.outputs, 2),
                                    plan_.weight_bytes, weights, plan_.work_bytes,
                                    scratch(memory, work_), plan_.reserve_bytes, reserve(memory)),
          "cudnnRNNForward");
  }

  void* reserve(const NodeMemory& memory) const {
    return plan_.reserve_bytes == 0 ? nullptr : kept(memory, reserve_);
  }

  // The gradients of weights read what those of inputs leave in the reserve.
  void backward(const NodeMemory& memory) {
    void* result_gradient = memory.output_gradients[0];
    if (result_gradient == nullptr) {
      result_gradient = scratch(memory, no_result_gradient_);
      fill_zero(result_gradient, output().bytes);
    }
    void* const input_gradient =
        makes(memory, 0) ? memory.input_gradients[0] : scratch(memory, no_input_gradient_);
    check(plan_.cudnn().rnn_backward_data(
              plan_.handle(), plan_.layer, nullptr, plan_.y, memory.outputs[0], result_gradient,
              plan_.x, input_gradient, plan_.h, given(memory.inputs, 1),
              left(memory.output_gradients, 1), given(memory.input_gradients, 1), plan_.c,
              given(memory.inputs, 2), left(memory.output_gradients, 2),
              given(memory.input_gradients, 2), plan_.weight_bytes, kept(memory, weights_),
              plan_.work_bytes, scratch(memory, work_), plan_.reserve_bytes, reserve(memory)),
          "cudnnRNNBackwardData");
    const bool wants_weights = std::any_of(
        plan_.pieces.begin(), plan_.pieces.end(),
        [&](const WeightPiece& piece) { return makes(memory, first_own() + piece.tensor); });
    if (!wants_weights) return;
    char* const gradients = scratch(memory, gradients_);
    fill_zero(gradients, as_signed(plan_.weight_bytes));  // they are added to what is there
    check(plan_.cudnn().rnn_backward_weights(
              plan_.handle(), plan_.layer, CUDNN_WGRAD_MODE_ADD, nullptr, plan_.x, memory.inputs[0],
              plan_.h, given(memory.inputs, 1), plan_.y, memory.outputs[0], plan_.weight_bytes,
              gradients, plan_.work_bytes, scratch(memory, work_), plan_.reserve_bytes,
              reserve(memory)),
          "cudnnRNNBackwardWeights");
    for (const WeightPiece& piece : plan_.pieces) {
      const std::size_t tensor = first_own() + piece.tensor;
      if (makes(memory, tensor))
        copy(static_cast<char*>(memory.input_gradients[tensor]) + piece.at_byte,
             gradients + piece.space_byte, piece.bytes);
    }
  }

  RnnShape shape_;
  RnnPlan plan_;
  Scratch kept_, scratch_;
  std::int64_t weights_ = 0, reserve_ = 0, work_ = 0, gradients_ = 0, no_result_gradient_ = 0,
               no_input_gradient_ = 0;
};

}  // namespace

KernelsOrReason cudnn_recurrent(const NodeFacts& facts, const Recurrent& op) {
  const BoundTensor& x = facts.inputs[0];
  const RnnShape shape{op, x.dtype, x[0], x[1], x[2], facts.is_training};
  return tried_node(facts, [&] { return std::make_unique<CudnnRecurrentNode>(facts, shape); });
}

}  // namespace strata::cuda::train
