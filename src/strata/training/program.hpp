// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/cost.hpp"
#include "strata/cost/update.hpp"
#include "strata/graph/bind.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A Program is one training iteration (or one inference pass) as an ordered list of Steps over
/// Values. It is a fact about the network and the way it is trained; no machine is seen here.
/// predict/ schedules it on a machine, measure/ runs it.
namespace strata {

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};
using StepId = std::uint32_t;

enum class ValueKind : std::uint8_t {
  input,            ///< of the network
  feature,          ///< made by a forward step: X and Y
  saved,            ///< left by forward for backward: a mask, statistics
  weight,           ///< W
  constant,         ///< tables and running statistics that are only read
  gradient,         ///< of a feature: dX and dY
  weight_gradient,  ///< dW
  state,            ///< kept between iterations: running statistics, momentum, master weights
};

/// A block of numbers that steps read and write as one. Two tensors that are the same memory under
/// two names (a reshape, the gradient of an addition) are one Value. Sequences of an unrolled
/// recurrent network are one Value per time step (and direction), its weights one per gate where
/// the gates are separate products. A step that needs only a part of a feature counts as using the
/// whole Value; rows that are looked up in a stored table are a Value of their own, beside the
/// table that the update changes.
struct Value {
  ValueKind kind = ValueKind::feature;
  bool is_given = false;   ///< lies in off-chip memory before the first step
  bool is_result = false;  ///< must lie in off-chip memory after the last step
  TensorId tensor = 0;  ///< of the graph, that it stems from; for `saved`, the node's first output
  std::uint32_t part =
      0;  ///< which time step, gate or saved thing of it; 0 also where there is one
  std::int64_t bytes = 0;
  std::int64_t row_bytes = 0;  ///< the least that must be on chip while the rest streams through
};

enum class Pass : std::uint8_t { forward, backward, backward_input, backward_weight, update };
std::string_view name_of(Pass pass);

/// How often a layer uses each number. Dense layers sum products, so each number counts for many
/// outputs: convolution, matrix product, recurrent gates. Pointwise layers use a number a few
/// times: element-wise and normalisation. Pooling and layers that only move data are `other`.
/// The thesis calls dense layers type I and pointwise layers type II.
enum class LayerClass : std::uint8_t { dense, pointwise, other };
std::string_view name_of(LayerClass layer_class);
LayerClass class_of(const Operator& op);

/// Which operand of a step a Value is. Of a node's pass: as its cost sheet has it; all pieces of a
/// tensor that is cut into several Values have its index. Of a gradient sum: inputs 0 and 1, output
/// 0. Of an update: the weight is an input, its gradient an input gradient, then the states; the
/// index is the piece of the weight, or the number of the state. Of a loss without a node: the
/// network's output is input 0, the targets are input 1. The steps of a recurrent layer that is
/// unrolled say none.
struct StepOperand {
  Operand operand = Operand::none;
  std::uint32_t index = 0;
  friend bool operator==(const StepOperand&, const StepOperand&) = default;
};

/// One use of a value by a step. A value that is read and written (an accumulated gradient, an
/// updated weight) is one use with both. Long programs have millions, so it takes 8 bytes.
struct Use {
  ValueId value = 0;
  bool reads : 1 = false;
  bool writes : 1 = false;
  Operand operand : 6 = Operand::none;
  std::uint32_t index : 24 = 0;

  static constexpr std::uint32_t most_operands = 1U << 24;

  constexpr Use(ValueId used, bool is_read, bool is_written, StepOperand as = {})
      : value(used),
        reads(is_read),
        writes(is_written),
        operand(as.operand),
        index(as.index & (most_operands - 1)) {}

  StepOperand is() const { return {operand, index}; }
};
static_assert(sizeof(Use) == 8);

/// An operand without a Use of its own: its value is that of another operand of the step (x + x,
/// two outputs whose gradient is the same), or `no_value`: the gradient of an output that
/// only functions without a gradient read, which is zero.
struct SharedOperand {
  StepId step = 0;
  StepOperand is = {};
  ValueId value = no_value;
};

struct Step {
  NodeId node = no_node;  ///< none: the loss, or the sum for a tensor that no node makes
  Pass pass = Pass::forward;
  LayerClass layer_class = LayerClass::other;
  bool is_gradient_sum = false;  ///< adds two gradients of one tensor; in no node's cost
  bool is_recomputed = false;    ///< a forward step that runs again for backward
  std::uint32_t time = 0;       ///< time step 1 … T of an unrolled recurrent network; 0 otherwise
  std::uint32_t first_use = 0;  ///< its uses are [first_use, first_use of the next step)
  std::int64_t flop = 0;        ///< a multiply-add is 2
  std::int64_t mac = 0;         ///< multiply-adds among them
};

struct Program {
  const BoundGraph* bound = nullptr;  ///< names and shapes; must outlive the program
  std::vector<Step> steps;
  std::vector<Use> uses;  ///< of all steps, in step order; no value twice in one step
  std::vector<SharedOperand> shared_operands;  ///< in step order; few programs have any
  std::vector<Value> values;
  std::vector<TensorId> roots;     ///< of every tensor: the one whose memory it is (a reshape's)
  std::vector<ValueId> gradients;  ///< of every tensor that is a weight with a gradient: the
                                   ///< first Value of it after backward; otherwise no_value
  std::vector<StepId> operation_steps;  ///< of every operation of a recording: its step
  std::int64_t samples = 0;             ///< that one iteration trains: batch × micro-batches

  std::span<const Use> uses_of(StepId step) const {
    const std::size_t end = step + 1 < steps.size() ? steps[step + 1].first_use : uses.size();
    return {uses.data() + steps[step].first_use, end - steps[step].first_use};
  }
  std::span<const SharedOperand> shared_operands_of(StepId step) const;
  /// The Value of an operand, the first where there are several; no_value: none, or a zero.
  ValueId value_at(StepId step, StepOperand operand) const;

  /// All that the step reads or writes, each Value once: what it moves where nothing stays on chip.
  std::int64_t read_bytes(StepId step) const;
  std::int64_t write_bytes(StepId step) const;

  // Defined in the source: else every file that copies one compiles all that it takes.
  Program();
  Program(const Program& other);
  Program(Program&& other) noexcept;
  Program& operator=(const Program& other);
  Program& operator=(Program&& other) noexcept;
  ~Program();
};

/// "layer1.0.conv1 backward", "decoder.lstm forward t=12 gates"; "gradient of layer1.0.relu",
/// "decoder.lstm cell t=12": for people.
std::string name_of(const Program& program, StepId step);
std::string value_name(const Program& program, ValueId value);

enum class Recompute : std::uint8_t {
  none,
  all,     ///< keep what passes between segments of about √n nodes, compute the rest again
  blocks,  ///< the same with the network's own blocks of layers as segments
};
enum class Loss : std::uint8_t {
  automatic,  ///< softmax cross-entropy when the network has one output and no loss
  none,       ///< every output gets a gradient from outside
  squared_error,
};

struct TrainingOptions {
  bool inference = false;
  Optimizer optimizer = Optimizer::momentum;
  Loss loss = Loss::automatic;
  Recompute recompute = Recompute::none;
  std::int64_t micro_batches = 1;  ///< forward and backward that often before one update
  bool separate_backward = false;  ///< two steps for dX and dW instead of one
  bool pool_keeps_input = false;   ///< max pooling keeps X and Y instead of indices
  bool master_weights = false;     ///< mixed precision: fp32 weights and state
  bool unroll_recurrent = true;    ///< false: one step per recurrent layer
};

/// Lays out one iteration. Order: depth-first from the inputs, waiting at a join until all its
/// inputs are there; recurrent layers unrolled as Graph::recurrent_order says; backward in reverse;
/// updates last. Errors (unsupported) say what of the options does not go with this network.
///
/// Backward of a node is one step that reads and writes what its cost sheet says and does the
/// arithmetic of both its backward passes. The gradients of a tensor with several readers are added
/// pair by pair, in steps of their own, as soon as two are there; a weight's gradient is added to
/// in place. Results are: the loss, updated weights and states (without an optimizer, the weights'
/// gradients); in inference, the network's outputs.
Program make_program(const BoundGraph& bound, const TrainingOptions& options = {});

/// What is wrong with a program, for tests and for what others make: uses out of range, a value
/// read before anybody made it, a value twice in one step, a shared operand that the step does not
/// use. Empty: nothing.
std::vector<std::string> problems_of(const Program& program);

}  // namespace strata
