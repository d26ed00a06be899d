// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/node_kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// A Program says which values a step uses; to run it one must know which of a node's tensors each
/// of them is. The wiring of a network is that: the steps in program order, each with the memory
/// that stands at each place of its node.
namespace strata {

using SlotId = std::uint32_t;
inline constexpr SlotId no_slot = std::numeric_limits<SlotId>::max();

enum class SlotKind : std::uint8_t {
  stored,           ///< input, weight, statistics, table: there before the first part
  feature,          ///< made by a forward part
  gradient,         ///< of a feature
  given_gradient,   ///< of an output of the network, from outside
  no_gradient,      ///< zeros, for an output that nobody asks a gradient of
  weight_gradient,  ///< to which every reader of the weight adds
  saved,            ///< what forward leaves for backward beside tensors
  scratch,          ///< lost after its part
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
struct WiredPart {
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
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
};

/// What a device can do with a node.
struct NodeAbility {
  bool runs = true;
  NodeNeeds needs = {};
};

struct Wiring {
  std::vector<Slot> slots;
  std::vector<WiredPart> parts;
  std::vector<SlotId> tensors;    ///< the slot of every tensor; no_slot: nobody touches it
  std::vector<SlotId> gradients;  ///< of every parameter that has one
  std::int64_t samples = 0;
};

/// Every slot that the part touches, once or several times.
std::vector<SlotId> slots_of(const WiredPart& part);

/// Lays out one iteration as make_program does, backward separate and recurrent layers whole, and
/// checks itself against it step by step. `abilities` by node. Errors (unsupported) when the
/// options ask for what cannot be run: recomputing, micro-batches, master weights.
Wiring wire(const BoundGraph& bound, TrainingOptions options,
            const std::vector<NodeAbility>& abilities);

/// What the cost sheets say that backward needs, for planning before kernels are known.
std::vector<NodeAbility> abilities_by_cost(const BoundGraph& bound, bool is_training);

}  // namespace strata
