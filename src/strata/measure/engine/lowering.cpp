// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/lowering.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <algorithm>

namespace strata {
namespace {

class Lowering {
 public:
  Lowering(const Program& program, const std::vector<NodeAbility>& abilities)
      : program_(program),
        bound_(*program.bound),
        graph_(*bound_.graph),
        abilities_(abilities),
        by_value_(program.values.size(), no_slot),
        saved_(graph_.nodes.size(), no_slot),
        backward_of_(graph_.nodes.size(), no_step) {
    lowered_.tensors.assign(graph_.tensors.size(), no_slot);
    lowered_.gradients.assign(graph_.tensors.size(), no_slot);
    lowered_.samples = program.samples;
    is_training_ = std::any_of(program.steps.begin(), program.steps.end(),
                               [](const Step& step) { return step.pass != Pass::forward; });
  }

  LoweredProgram lowered() && {
    add_stored();
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      LoweredStep& step = lower(id);
      step.flop = checked_add(step.flop, program_.steps[id].flop);
      step.read_bytes = checked_add(step.read_bytes, program_.read_bytes(id));
      step.write_bytes = checked_add(step.write_bytes, program_.write_bytes(id));
    }
    mark_results();
    for (TensorId id = 0; id < graph_.tensors.size(); ++id)
      lowered_.tensors[id] = lowered_.tensors[program_.roots[id]];
    return std::move(lowered_);
  }

 private:
  static constexpr std::size_t no_step = ~std::size_t{0};

  LoweredStep& lower(StepId id) {
    const Step& step = program_.steps[id];
    if (step.is_gradient_sum) return lower_sum(id);
    switch (step.pass) {
      case Pass::forward: return lower_forward(step.node);
      case Pass::update: return lower_update(id);
      default: return lower_backward(id);
    }
  }

  SlotId add_slot(SlotKind kind, TensorId tensor, NodeId node, std::int64_t bytes) {
    const bool is_permanent = kind == SlotKind::stored || kind == SlotKind::state ||
                              kind == SlotKind::given_gradient || kind == SlotKind::no_gradient;
    lowered_.slots.push_back({kind, tensor, node, bytes, is_permanent, false});
    return static_cast<SlotId>(lowered_.slots.size() - 1);
  }

  // Each belongs to the first node that reads it.
  void add_stored() {
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      if (graph_.tensors[id].kind != TensorKind::activation)
        lowered_.tensors[id] = add_slot(SlotKind::stored, id, no_node, bound_.tensors[id].bytes);
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      for (const TensorId input : graph_.nodes[id].inputs) {
        const SlotId slot = lowered_.tensors[input];
        if (slot != no_slot && lowered_.slots[slot].node == no_node) lowered_.slots[slot].node = id;
      }
    }
  }

  SlotId slot_of(TensorId tensor) const { return lowered_.tensors[program_.roots[tensor]]; }

  // The slot of a gradient or state, made for `node` where it is the first to use it. All other
  // Values are tensors.
  SlotId slot_of_value(ValueId id, NodeId node) {
    if (by_value_[id] != no_slot) return by_value_[id];
    const Value& value = program_.values[id];
    const BoundTensor& tensor = bound_.tensors[value.tensor];
    const auto add = [&](SlotKind kind, NodeId owner, std::int64_t bytes) {
      return by_value_[id] = add_slot(kind, value.tensor, owner, bytes);
    };
    if (value.kind == ValueKind::weight_gradient)
      return add(SlotKind::weight_gradient, node, tensor.bytes);
    if (value.kind == ValueKind::state)  // kept in fp32 whatever the weights are
      return add(SlotKind::state, node,
                 checked_mul(tensor.elements, static_cast<std::int64_t>(sizeof(float))));
    STRATA_CHECK(value.kind == ValueKind::gradient, "only gradients and states are no tensors");
    return value.is_given ? add(SlotKind::given_gradient, no_node, tensor.bytes)
                          : add(SlotKind::gradient, node, tensor.bytes);
  }

  SlotId add_scratch(NodeId id) {
    const std::int64_t bytes = abilities_[id].needs.scratch_bytes;
    if (bytes <= 0 || !abilities_[id].runs) return no_slot;
    return add_slot(SlotKind::scratch, graph_.nodes[id].outputs[0], id, bytes);
  }

  LoweredStep& add_step(NodeId node, Pass pass, bool runs = true) {
    lowered_.steps.push_back({.node = node, .pass = pass, .runs = runs});
    return lowered_.steps.back();
  }

  LoweredStep& lower_forward(NodeId id) {
    const Node& node = graph_.nodes[id];
    LoweredStep& step = add_step(id, Pass::forward, abilities_[id].runs);
    for (const TensorId input : node.inputs) step.inputs.push_back(slot_of(input));
    for (const TensorId output : node.outputs) {
      SlotId& slot = lowered_.tensors[program_.roots[output]];
      if (slot == no_slot) {
        slot = add_slot(SlotKind::feature, output, id, bound_.tensors[output].bytes);
        lowered_.slots[slot].is_permanent = !step.runs;  // made up once
      }
      step.outputs.push_back(slot);
    }
    if (is_training_ && abilities_[id].needs.saved_bytes > 0)
      saved_[id] = add_slot(SlotKind::saved, node.outputs[0], id, abilities_[id].needs.saved_bytes);
    step.saved = saved_[id];
    step.scratch = add_scratch(id);
    return step;
  }

  LoweredStep& lower_sum(StepId id) {
    const Step& from = program_.steps[id];
    LoweredStep& step = add_step(from.node, from.pass);
    step.is_gradient_sum = true;
    for (const StepOperand operand : {StepOperand{Operand::input, 0}, {Operand::input, 1}, sum_})
      step.operands.push_back(slot_of_value(program_.value_at(id, operand), from.node));
    step.tensor = program_.values[program_.value_at(id, sum_)].tensor;
    // A weight's gradient that nobody has computed so far is zero and stays so.
    const SlotId sum = step.operands[2];
    if (sum == step.operands[0] && lowered_.slots[sum].is_permanent) {
      step.operands[0] =
          add_slot(SlotKind::no_gradient, step.tensor, from.node, lowered_.slots[sum].bytes);
      lowered_.slots[sum].is_permanent = false;
    }
    return step;
  }

  LoweredStep& lower_backward(StepId id) {
    const Step& from = program_.steps[id];
    const bool is_one = abilities_[from.node].needs.backward_is_one;
    std::size_t& place = backward_of_[from.node];
    if (!is_one || place == no_step) {
      place = lowered_.steps.size();
      begin_backward(from.node, is_one ? Pass::backward : from.pass);
    }
    LoweredStep& step = lowered_.steps[place];
    for (const Use& use : program_.uses_of(id)) set_gradient(step, use.is(), use.value);
    for (const SharedOperand& shared : program_.shared_operands_of(id))
      set_gradient(step, shared.is, shared.value);
    return step;
  }

  // Kernels say themselves which tensors they read again.
  void begin_backward(NodeId id, Pass pass) {
    const Node& node = graph_.nodes[id];
    const NodeNeeds& needs = abilities_[id].needs;
    LoweredStep& step = add_step(id, pass, abilities_[id].runs);
    step.output_gradients.assign(node.outputs.size(), no_slot);
    step.input_gradients.assign(node.inputs.size(), no_slot);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const SlotId slot = slot_of(node.inputs[i]);
      const bool is_there = needs.inputs || i >= node.first_own ||
                            (slot != no_slot && lowered_.slots[slot].is_permanent);
      step.inputs.push_back(is_there ? slot : no_slot);
    }
    for (const TensorId output : node.outputs)
      step.outputs.push_back(needs.outputs ? slot_of(output) : no_slot);
    step.saved = saved_[id];
    step.scratch = add_scratch(id);
  }

  void set_gradient(LoweredStep& step, StepOperand operand, ValueId value) {
    if (operand.operand == Operand::output_gradient) {
      const TensorId output = graph_.nodes[step.node].outputs[operand.index];
      step.output_gradients[operand.index] =
          value == no_value
              ? add_slot(SlotKind::no_gradient, output, step.node, bound_.tensors[output].bytes)
              : slot_of_value(value, step.node);
    } else if (operand.operand == Operand::input_gradient) {
      step.input_gradients[operand.index] = written_gradient(step, value);
    }
  }

  // Where a kernel writes a gradient. What it adds to a weight's gradient goes to scratch first.
  SlotId written_gradient(LoweredStep& step, ValueId value) {
    const bool is_new = by_value_[value] == no_slot;
    const SlotId slot = slot_of_value(value, step.node);
    bool& is_zero = lowered_.slots[slot].is_permanent;  // as long as nobody computes it
    if (is_new || (is_zero && step.runs)) {
      is_zero = !step.runs;
      return slot;
    }
    if (!step.runs) return no_slot;  // nothing is added
    const SlotId addend = add_slot(SlotKind::scratch, lowered_.slots[slot].tensor, step.node,
                                   lowered_.slots[slot].bytes);
    step.accumulations.push_back({slot, addend});
    return addend;
  }

  LoweredStep& lower_update(StepId id) {
    const NodeId owner = program_.steps[id].node;
    LoweredStep& step = add_step(owner, Pass::update);
    const ValueId gradient = program_.value_at(id, {Operand::input_gradient, 0});
    step.tensor = program_.values[program_.value_at(id, {Operand::input, 0})].tensor;
    step.operands = {slot_of(step.tensor), slot_of_value(gradient, owner)};
    for (const Use& use : program_.uses_of(id)) {
      if (use.operand == Operand::state) step.operands.push_back(slot_of_value(use.value, owner));
    }
    return step;
  }

  // The network's outputs in inference, the loss in training, and the gradients of weights.
  void mark_results() {
    for (const Value& value : program_.values) {
      const SlotId slot = lowered_.tensors[value.tensor];
      if (value.is_result && value.kind == ValueKind::feature && slot != no_slot)
        lowered_.slots[slot].is_result = true;
    }
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const ValueId gradient = program_.gradients[id];
      if (gradient == no_value) continue;
      lowered_.gradients[id] = slot_of_value(gradient, no_node);
      lowered_.slots[lowered_.gradients[id]].is_result = true;
    }
  }

  static constexpr StepOperand sum_{Operand::output, 0};

  const Program& program_;
  const BoundGraph& bound_;
  const Graph& graph_;
  const std::vector<NodeAbility>& abilities_;
  bool is_training_ = false;
  std::vector<SlotId> by_value_;          // of gradients and states
  std::vector<SlotId> saved_;             // of every node
  std::vector<std::size_t> backward_of_;  // of every node: its last backward step
  LoweredProgram lowered_;
};

}  // namespace

std::vector<SlotId> slots_of(const LoweredStep& step) {
  std::vector<SlotId> slots = step.operands;
  for (const auto* list :
       {&step.inputs, &step.outputs, &step.output_gradients, &step.input_gradients})
    slots.insert(slots.end(), list->begin(), list->end());
  for (const Accumulation& one : step.accumulations) {
    slots.push_back(one.sum);
    slots.push_back(one.addend);
  }
  slots.push_back(step.saved);
  slots.push_back(step.scratch);
  std::erase(slots, no_slot);
  return slots;
}

Program runnable_program(const BoundGraph& bound, TrainingOptions options) {
  if (options.recompute != Recompute::none || options.micro_batches != 1 || options.master_weights)
    fail(ErrorKind::unsupported,
         "recomputing, micro-batches and master weights can be predicted but not run");
  options.loss = Loss::none;  // it is a node
  options.unroll_recurrent = false;
  options.separate_backward = true;
  options.pool_keeps_input = false;
  return make_program(bound, options);
}

LoweredProgram lower_program(const Program& program, const std::vector<NodeAbility>& abilities) {
  STRATA_CHECK(abilities.size() == program.bound->graph->nodes.size(),
               "what each node can do is known");
  return Lowering(program, abilities).lowered();
}

std::vector<NodeAbility> abilities_by_cost(const BoundGraph& bound, bool is_training) {
  std::vector<NodeAbility> abilities(bound.graph->nodes.size());
  if (!is_training) return abilities;
  for (NodeId id = 0; id < abilities.size(); ++id) {
    const NodeCost cost = cost_of(bound, id);
    const Kept kept = kept_for_backward(bound, id, cost);
    NodeNeeds& needs = abilities[id].needs;
    needs.inputs = kept.input;
    needs.outputs = kept.output;
    for (const Saved& saved : cost.saved)
      needs.saved_bytes = checked_add(needs.saved_bytes, saved.bytes);
  }
  return abilities;
}

}  // namespace strata
