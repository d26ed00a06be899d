// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/checked.hpp"
#include "strata/cost/cost.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace strata {

class CostSheet;

/// One pass of the node while its cost is written down. Every call adds to the pass and returns it,
/// so that an entry reads as a sentence:
/// `gradient->reads_output_gradient().reads_input(1).add_mac(mac)`. Each tensor is read once per
/// pass, however many gradients of the pass ask for it.
class PassSheet {
 public:
  PassSheet(const CostSheet& sheet, PassCost& pass) : sheet_(&sheet), pass_(&pass) {}

  PassSheet& add_flop(Count count);
  /// Multiply-adds of a matrix product in the wide sense; 2 FLOP each.
  PassSheet& add_mac(Count count);

  PassSheet& reads_input(std::size_t index);
  PassSheet& reads_output(std::size_t index = 0);
  PassSheet& reads_saved(std::size_t index);
  PassSheet& reads_output_gradient(std::size_t index = 0);
  /// Every output gradient that exists: an output that reaches no result has none.
  PassSheet& reads_output_gradients();
  PassSheet& reads_all_inputs();

  // A part of a tensor. Parts of the same tensor add up within the pass, and never exceed the
  // tensor.
  PassSheet& reads_part_of_input(std::size_t index, Count bytes);
  PassSheet& reads_part_of_output_gradient(Count bytes);

  /// A state that the operator carries on: running statistics.
  PassSheet& writes_input(std::size_t index);
  PassSheet& writes_saved(std::size_t index);
  PassSheet& writes_all_outputs();
  PassSheet& writes_input_gradient(std::size_t index);

 private:
  friend class CostSheet;
  Access* find(Operand operand, std::size_t index) const;
  void read(Operand operand, std::size_t index, std::int64_t bytes);
  void read_part(Operand operand, std::size_t index, Count bytes, std::int64_t whole_bytes);
  void enter(Operand operand, AccessMode mode, std::size_t index, std::int64_t bytes);

  const CostSheet* sheet_;
  PassCost* pass_;
};

/// The work sheet on which an operator writes its cost: sizes of its tensors in, a NodeCost out.
/// One overload of `write_cost` per operator, in cost/ops/<family>.cpp; dispatched in cost.cpp.
class CostSheet {
 public:
  CostSheet(const BoundGraph& bound, NodeId node, Mode mode);

  const BoundTensor& input(std::size_t index) const { return bound_.tensors[node_.inputs[index]]; }
  const BoundTensor& output(std::size_t index = 0) const {
    return bound_.tensors[node_.outputs[index]];
  }
  std::size_t input_count() const { return node_.inputs.size(); }
  std::size_t output_count() const { return node_.outputs.size(); }
  std::size_t first_own() const { return node_.first_own; }
  /// The first input that is the same tensor: x·x reads one tensor, not two.
  std::size_t first_use(std::size_t input) const;

  bool is_training() const { return mode_ == Mode::training; }
  /// Training goes backward through this node: an output has a gradient and an input wants one.
  bool has_backward() const { return has_backward_; }
  /// True for an input whose gradient this node computes; false for an index beyond the inputs.
  bool wants_gradient(std::size_t input) const;
  bool wants_any_gradient(std::size_t first, std::size_t end) const;
  /// Learnt, so that its gradient belongs to backward_weight; any other gradient to backward_input.
  bool is_parameter(std::size_t input) const;

  PassSheet forward() { return {*this, cost_.forward}; }
  /// Forward reads all inputs and writes all outputs, as nearly every operator does.
  PassSheet forward_of_all();
  PassSheet backward_input() { return {*this, cost_.backward_input}; }
  PassSheet backward_weight() { return {*this, cost_.backward_weight}; }

  /// The pass that computes the gradient of an input, with the write of that gradient entered;
  /// nothing when it is not wanted.
  std::optional<PassSheet> gradient_of(std::size_t input);
  /// The gradient of the input, where wanted, is output gradient 0 itself.
  void alias_gradient_of(std::size_t input);
  /// The output is input 0 under another name, and so are their gradients.
  void alias();

  /// Something forward writes for backward; its index. Only for a node that has a backward pass.
  std::size_t save(std::string_view name, Count bytes);
  /// The same for what backward_input leaves for backward_weight.
  std::size_t hand_over(std::string_view name, Count bytes);

  void leave_uncounted() { cost_.is_counted = false; }

  NodeCost take() && { return std::move(cost_); }

 private:
  friend class PassSheet;
  PassSheet pass_of(std::size_t input) {
    const bool is_weight = input >= first_own() || is_parameter(input);
    return is_weight ? backward_weight() : backward_input();
  }

  const BoundGraph& bound_;
  const Node& node_;
  Mode mode_;
  bool has_backward_ = false;
  NodeCost cost_;
};

/// Width of statistics that stay from forward to backward (means, log-sum-exp): kept in fp32 at
/// least, whatever the data, as training libraries do.
std::int64_t statistic_bytes(DType dtype);

// convolution.cpp
void write_cost(const Convolution& op, CostSheet& sheet);

// matmul.cpp
void write_cost(const Linear& op, CostSheet& sheet);
void write_cost(const MatMul& op, CostSheet& sheet);

// attention.cpp
void write_cost(const Attention& op, CostSheet& sheet);
void write_cost(const RotaryEmbedding& op, CostSheet& sheet);

// recurrent.cpp
void write_cost(const Recurrent& op, CostSheet& sheet);

// pool.cpp
void write_cost(const Pool& op, CostSheet& sheet);
void write_cost(const AdaptivePool& op, CostSheet& sheet);

// normalization.cpp
void write_cost(const BatchNorm& op, CostSheet& sheet);
void write_cost(const LayerNorm& op, CostSheet& sheet);
void write_cost(const RmsNorm& op, CostSheet& sheet);
void write_cost(const GroupNorm& op, CostSheet& sheet);
void write_cost(const LocalResponseNorm& op, CostSheet& sheet);

// pointwise.cpp
void write_cost(const Unary& op, CostSheet& sheet);
void write_cost(const Softmax& op, CostSheet& sheet);
void write_cost(const Dropout& op, CostSheet& sheet);
void write_cost(const Cast& op, CostSheet& sheet);

// elementwise.cpp
void write_cost(const Elementwise& op, CostSheet& sheet);

// reduce.cpp
void write_cost(const Reduce& op, CostSheet& sheet);
void write_cost(const SoftmaxCrossEntropy& op, CostSheet& sheet);
void write_cost(const SquaredError& op, CostSheet& sheet);

// movement.cpp
void write_cost(const Concat& op, CostSheet& sheet);
void write_cost(const Split& op, CostSheet& sheet);
void write_cost(const Slice& op, CostSheet& sheet);
void write_cost(const Reshape& op, CostSheet& sheet);
void write_cost(const Flatten& op, CostSheet& sheet);
void write_cost(const Transpose& op, CostSheet& sheet);
void write_cost(const Expand& op, CostSheet& sheet);
void write_cost(const Resize& op, CostSheet& sheet);
void write_cost(const Pad& op, CostSheet& sheet);
void write_cost(const Embedding& op, CostSheet& sheet);
void write_cost(const Gather& op, CostSheet& sheet);
void write_cost(const ChannelShuffle& op, CostSheet& sheet);
void write_cost(const SpaceToDepth& op, CostSheet& sheet);

// detection.cpp
void write_cost(const Yolo& op, CostSheet& sheet);

// opaque.cpp
void write_cost(const Opaque& op, CostSheet& sheet);

}  // namespace strata
