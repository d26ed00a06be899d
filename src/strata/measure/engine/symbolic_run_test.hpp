// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <vector>

/// Runs a lowered program with words instead of numbers, in the memory of its plan: a word says
/// what was computed, and gradients add up as numbers do. Beside it the words that the graph asks
/// for, found by recursion over its edges, without a Program.
namespace strata::symbolic {

using Word = std::uint64_t;

inline Word word(std::initializer_list<std::uint64_t> parts) {
  Word result = 0x9e3779b97f4a7c15U;
  for (const std::uint64_t part : parts) {
    result ^= part + 0x9e3779b97f4a7c15U + (result << 6) + (result >> 2);
    result = (result ^ (result >> 30)) * 0xbf58476d1ce4e5b9U;
    result ^= result >> 27;
  }
  return result;
}

inline Word stored(TensorId tensor) { return word({1, tensor}); }
inline Word given(TensorId tensor) { return word({2, tensor}); }
inline Word stand_in(TensorId tensor) { return word({3, tensor}); }
inline Word saved(NodeId node) { return word({4, node}); }
inline Word derivative(NodeId node, std::size_t input) { return word({5, node, input}); }

/// What must come out, by the graph alone.
class Expected {
 public:
  Expected(const BoundGraph& bound, const std::vector<NodeAbility>& abilities)
      : graph_(*bound.graph), bound_(bound), abilities_(abilities), costs_(costs_of(bound)) {}

  TensorId root(TensorId tensor) const {
    const NodeId producer = graph_.tensors[tensor].producer;
    if (producer == no_node || !costs_[producer].forward.only_renames()) return tensor;
    return root(graph_.nodes[producer].inputs[0]);
  }

  Word forward(TensorId tensor) {
    const TensorId id = root(tensor);
    const NodeId producer = graph_.tensors[id].producer;
    if (producer == no_node) return stored(id);
    if (!abilities_[producer].runs) return stand_in(id);
    const auto [known, is_new] = forward_.try_emplace(id, 0);
    if (!is_new) return known->second;
    Word result = word({6, producer, id});
    for (const TensorId input : graph_.nodes[producer].inputs)
      result = word({result, forward(input)});
    return forward_[id] = result;
  }

  /// The sum over everything that reads the tensor; nothing: no output depends on it.
  std::optional<Word> gradient(TensorId tensor) {
    if (!bound_.tensors[tensor].wants_gradient) return std::nullopt;
    if (const auto known = gradient_.find(tensor); known != gradient_.end()) return known->second;
    std::optional<Word> sum;
    const auto add = [&](std::optional<Word> one) {
      if (one) sum = sum.value_or(0) + *one;
    };
    for (const TensorId output : std::set(graph_.outputs.begin(), graph_.outputs.end()))
      if (output == tensor) add(given(root(tensor)));
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      for (std::size_t i = 0; i < graph_.nodes[id].inputs.size(); ++i)
        if (graph_.nodes[id].inputs[i] == tensor) add(contribution(id, i));
    }
    return gradient_[tensor] = sum;
  }

  const NodeCost& cost(NodeId node) const { return costs_[node]; }

 private:
  std::optional<Word> contribution(NodeId id, std::size_t input) {
    const Node& node = graph_.nodes[id];
    if (costs_[id].forward.only_renames()) return gradient(node.outputs[0]);
    const bool goes_on = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](TensorId output) { return gradient(output).has_value(); });
    if (!goes_on) return std::nullopt;
    for (const PassCost* pass : {&costs_[id].backward_input, &costs_[id].backward_weight}) {
      for (const Access& access : pass->accesses) {
        if (access.operand != Operand::input_gradient || access.index != input) continue;
        if (access.mode == AccessMode::alias) return gradient(node.outputs[0]);
        return abilities_[id].runs ? derivative(id, input) : 0;
      }
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const BoundGraph& bound_;
  const std::vector<NodeAbility>& abilities_;
  std::vector<NodeCost> costs_;
  std::map<TensorId, Word> forward_;
  std::map<TensorId, std::optional<Word>> gradient_;
};

/// Memory in which whatever is overwritten in part is lost.
class Memory {
 public:
  Memory(const LoweredProgram& program, const MemoryPlan& plan) : program_(program), plan_(plan) {}

  void write(SlotId slot, Word content) {
    const Block block = block_of(slot);
    std::erase_if(blocks_, [&](const Block& other) {
      return other.is_permanent == block.is_permanent && other.begin < block.end &&
             block.begin < other.end;
    });
    blocks_.push_back(block);
    blocks_.back().content = content;
  }

  std::optional<Word> read(SlotId slot) const {
    const Block block = block_of(slot);
    for (const Block& other : blocks_) {
      if (other.is_permanent == block.is_permanent && other.begin == block.begin &&
          other.end == block.end)
        return other.content;
    }
    return std::nullopt;
  }

 private:
  struct Block {
    bool is_permanent = false;
    std::int64_t begin = 0, end = 0;
    Word content = 0;
  };

  Block block_of(SlotId slot) const {
    const SlotLocation place = plan_.places.at(slot).value();
    return {place.is_permanent, place.offset, place.offset + program_.slots[slot].bytes, 0};
  }

  const LoweredProgram& program_;
  const MemoryPlan& plan_;
  std::vector<Block> blocks_;
};

/// Compares every operand of every step with what the graph asks for.
class Run {
 public:
  Run(const BoundGraph& bound, const LoweredProgram& program,
      const std::vector<NodeAbility>& abilities)
      : graph_(*bound.graph),
        bound_(bound),
        program_(program),
        abilities_(abilities),
        expected_(bound, abilities),
        plan_(plan_memory(program)),
        memory_(program, plan_) {
    for (SlotId id = 0; id < program.slots.size(); ++id) {
      const Slot& slot = program.slots[id];
      if (!slot.is_permanent) continue;
      memory_.write(id, slot.kind == SlotKind::stored           ? stored(slot.tensor)
                        : slot.kind == SlotKind::given_gradient ? given(slot.tensor)
                        : slot.kind == SlotKind::feature        ? stand_in(slot.tensor)
                                                                : 0);
    }
  }

  void iterate() {
    for (const LoweredStep& step : program_.steps) {
      if (!step.runs || ::testing::Test::HasFailure()) continue;
      if (step.is_gradient_sum) {
        memory_.write(step.operands[2], must_have(step.operands[0]) + must_have(step.operands[1]));
      } else if (step.pass == Pass::forward) {
        run_forward(step);
      } else if (step.pass == Pass::update) {
        run_update(step);
      } else {
        run_backward(step);
      }
    }
  }

  void expect_results() {
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (graph_.tensors[id].kind != TensorKind::parameter) continue;
      const std::optional<Word> gradient = expected_.gradient(id);
      const SlotId slot = program_.gradients[id];
      ASSERT_EQ(slot != no_slot, gradient.has_value()) << graph_.tensors[id].name;
      if (gradient) {
        EXPECT_EQ(memory_.read(slot), gradient) << graph_.tensors[id].name;
      }
    }
  }

 private:
  Word must_have(SlotId slot) const {
    const std::optional<Word> content = slot == no_slot ? std::nullopt : memory_.read(slot);
    EXPECT_TRUE(content) << "slot " << slot << " was lost or never written";
    return content.value_or(0);
  }

  void expect_forward(const std::vector<SlotId>& slots, const std::vector<TensorId>& tensors) {
    ASSERT_EQ(slots.size(), tensors.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] == no_slot) continue;
      EXPECT_EQ(memory_.read(slots[i]), expected_.forward(tensors[i]))
          << graph_.tensors[tensors[i]].name;
    }
  }

  void run_forward(const LoweredStep& step) {
    const Node& node = graph_.nodes[step.node];
    SCOPED_TRACE(node.name + " forward");
    EXPECT_EQ(std::count(step.inputs.begin(), step.inputs.end(), no_slot), 0);
    expect_forward(step.inputs, node.inputs);
    if (step.scratch != no_slot) memory_.write(step.scratch, 0);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      memory_.write(step.outputs[i], expected_.forward(node.outputs[i]));
    if (step.saved != no_slot) memory_.write(step.saved, saved(step.node));
  }

  void run_backward(const LoweredStep& step) {
    const Node& node = graph_.nodes[step.node];
    const NodeNeeds& needs = abilities_[step.node].needs;
    SCOPED_TRACE(node.name + " " + std::string(name_of(step.pass)));
    EXPECT_TRUE(!needs.inputs || std::count(step.inputs.begin(), step.inputs.end(), no_slot) == 0);
    EXPECT_TRUE(!needs.outputs ||
                std::count(step.outputs.begin(), step.outputs.end(), no_slot) == 0);
    expect_forward(step.inputs, node.inputs);
    expect_forward(step.outputs, node.outputs);
    EXPECT_EQ(step.saved != no_slot, needs.saved_bytes > 0);
    if (step.saved != no_slot) {
      EXPECT_EQ(memory_.read(step.saved), saved(step.node));
    }
    if (step.scratch != no_slot) memory_.write(step.scratch, 0);
    const NodeCost& cost = expected_.cost(step.node);
    if (step.pass != Pass::backward_weight) expect_pass(step, cost.backward_input);
    if (step.pass != Pass::backward_input) expect_pass(step, cost.backward_weight);
    for (std::size_t i = 0; i < step.output_gradients.size(); ++i) {
      if (step.output_gradients[i] == no_slot) continue;
      EXPECT_EQ(memory_.read(step.output_gradients[i]),
                expected_.gradient(node.outputs[i]).value_or(0));
    }
    for (std::size_t i = 0; i < step.input_gradients.size(); ++i) {
      if (step.input_gradients[i] != no_slot)
        memory_.write(step.input_gradients[i], derivative(step.node, i));
    }
    for (const Accumulation& one : step.accumulations)
      memory_.write(one.sum, must_have(one.sum) + must_have(one.addend));
  }

  // Exactly the gradients that the pass reads and writes are there.
  void expect_pass(const LoweredStep& step, const PassCost& pass) {
    for (const Access& access : pass.accesses) {
      if (access.operand == Operand::output_gradient) {
        EXPECT_NE(step.output_gradients[access.index], no_slot) << access.index;
      }
      if (access.operand == Operand::input_gradient) {
        EXPECT_EQ(step.input_gradients[access.index] != no_slot, access.mode == AccessMode::write);
      }
    }
  }

  void run_update(const LoweredStep& step) {
    SCOPED_TRACE("update of " + graph_.tensors[step.tensor].name);
    EXPECT_EQ(step.operands.size(), 3U);  // momentum
    EXPECT_EQ(memory_.read(step.operands[0]), stored(step.tensor));
    EXPECT_EQ(memory_.read(step.operands[1]), expected_.gradient(step.tensor));
    EXPECT_EQ(program_.slots[step.operands[2]].kind, SlotKind::state);
    EXPECT_EQ(program_.slots[step.operands[2]].tensor, step.tensor);
  }

  const Graph& graph_;
  const BoundGraph& bound_;
  const LoweredProgram& program_;
  const std::vector<NodeAbility>& abilities_;
  Expected expected_;
  MemoryPlan plan_;
  Memory memory_;
};

}  // namespace strata::symbolic
