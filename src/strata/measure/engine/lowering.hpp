// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/node_kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// A Program says which Values a step uses and as which operands; kernels work on memory. Lowering
/// gives every Value a slot of memory, adds what kernels need beside Values (scratch, zeros, what
/// forward saves), and writes down for each step the slot of every operand.
namespace strata {

using SlotId = std::uint32_t;
inline constexpr SlotId no_slot = std::numeric_limits<SlotId>::max();

enum class SlotKind : std::uint8_t {
  stored,           ///< input, weight, statistics, table: there before the first step
  feature,          ///< made by a forward step
  gradient,         ///< of a feature
  given_gradient,   ///< of an output of the network, from outside
  no_gradient,      ///< zeros, for an output that nobody asks a gradient of
  weight_gradient,  ///< to which every reader of the weight adds
  saved,            ///< what forward leaves for backward beside tensors
  scratch,          ///< lost after its step
  state,            ///< of the optimizer
};

/// A block of memory. Tensors that are the same memory under two names share one.
struct Slot {
  SlotKind kind = SlotKind::feature;
  TensorId tensor = 0;    ///< that it holds, or is the gradient or state of
  NodeId node = no_node;  ///< that makes or needs it first
  std::int64_t bytes = 0;
  bool is_permanent = false;  ///< keeps its content from one iteration to the next
  bool is_result = false;     ///< may be looked at after the iteration
};

/// A kernel writes a weight's gradient anew; what was there before is added afterwards.
struct Accumulation {
  SlotId sum = no_slot;
  SlotId addend = no_slot;
};

/// One step as it runs.
struct LoweredStep {
  NodeId node = no_node;
  Pass pass = Pass::forward;
  bool is_gradient_sum = false;
  bool runs = true;                 ///< false: the node has no kernels here
  TensorId tensor = 0;              ///< whose gradients are summed, or which parameter is updated
  std::vector<SlotId> inputs = {};  ///< these as NodeMemory has them; no_slot where it has null
  std::vector<SlotId> outputs = {};
  std::vector<SlotId> output_gradients = {};
  std::vector<SlotId> input_gradients = {};
  SlotId saved = no_slot;
  SlotId scratch = no_slot;
  std::vector<Accumulation> accumulations = {};
  /// Of a gradient sum: a, b, a + b. Of an update: parameter, gradient, states.
  std::vector<SlotId> operands = {};
  std::int64_t flop = 0;
  std::int64_t read_bytes = 0;  ///< as the Program has them
  std::int64_t write_bytes = 0;
};

/// What a device can do with a node.
struct NodeAbility {
  bool runs = true;
  NodeNeeds needs = {};
};

struct LoweredProgram {
  std::vector<Slot> slots;
  /// In program order. The two backward steps of a node are one where its kernels compute both
  /// gradients at once.
  std::vector<LoweredStep> steps;
  std::vector<SlotId> tensors;    ///< the slot of every tensor; no_slot: nobody touches it
  std::vector<SlotId> gradients;  ///< of every parameter that has one
  std::int64_t samples = 0;
};

/// Every slot that the step touches, once or several times.
std::vector<SlotId> slots_of(const LoweredStep& step);

/// The iteration as an engine runs it: backward separate, recurrent layers whole, the loss a node.
/// Errors (unsupported) when the options ask for what cannot be run: recomputing, micro-batches,
/// master weights.
Program runnable_program(const BoundGraph& bound, TrainingOptions options);

/// `program` is a runnable one, `abilities` are by node.
LoweredProgram lower_program(const Program& program, const std::vector<NodeAbility>& abilities);

/// What the cost sheets say that backward needs, for planning before kernels are known.
std::vector<NodeAbility> abilities_by_cost(const BoundGraph& bound, bool is_training);

}  // namespace strata
