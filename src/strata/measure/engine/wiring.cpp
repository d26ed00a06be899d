// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/wiring.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/training/node_steps.hpp"

#include <algorithm>
#include <optional>

namespace strata {
namespace {

bool only_renames(const PassCost& pass) {
  return std::all_of(pass.accesses.begin(), pass.accesses.end(),
                     [](const Access& access) { return access.mode == AccessMode::alias; });
}

TrainingOptions runnable(TrainingOptions options) {
  if (options.recompute != Recompute::none || options.micro_batches != 1 || options.master_weights)
    fail(ErrorKind::unsupported,
         "recomputing, micro-batches and master weights can be predicted but not run");
  options.loss = Loss::none;  // it is a node
  options.unroll_recurrent = false;
  options.separate_backward = true;
  options.pool_keeps_input = false;
  return options;
}

class Wirer {
 public:
  Wirer(const BoundGraph& bound, const TrainingOptions& options,
        const std::vector<NodeAbility>& abilities)
      : shop_(bound, options),
        nodes_(shop_),
        program_(make_program(bound, options)),
        abilities_(abilities),
        gradients_(bound.tensors.size(), no_slot),
        saved_(shop_.graph.nodes.size(), no_slot) {
    wiring_.tensors.assign(bound.tensors.size(), no_slot);
    wiring_.gradients.assign(bound.tensors.size(), no_slot);
    wiring_.samples = program_.samples;
  }

  Wiring wiring() && {
    add_stored();
    for (const Instance& instance : shop_.unrolling.instances) forward(instance.node);
    mark_results();
    if (!shop_.options.inference) {
      give_output_gradients();
      const auto& instances = shop_.unrolling.instances;
      for (auto at = instances.rbegin(); at != instances.rend(); ++at) backward(at->node);
      updates();
    }
    STRATA_CHECK(next_step_ == program_.steps.size(), "every step of the program is wired");
    for (TensorId id = 0; id < wiring_.tensors.size(); ++id) wiring_.tensors[id] = slot_of(id);
    return std::move(wiring_);
  }

 private:
  TensorId root(TensorId tensor) const { return shop_.unrolling.root[tensor]; }
  SlotId slot_of(TensorId tensor) const { return wiring_.tensors[root(tensor)]; }
  SlotId& gradient_of(TensorId tensor) { return gradients_[root(tensor)]; }
  bool wants_gradient(TensorId tensor) const { return shop_.bound.tensors[tensor].wants_gradient; }
  bool is_parameter(TensorId tensor) const {
    return shop_.graph.tensors[root(tensor)].kind == TensorKind::parameter;
  }

  SlotId add_slot(SlotKind kind, TensorId tensor, NodeId node, std::int64_t bytes) {
    const bool is_permanent = kind == SlotKind::stored || kind == SlotKind::state ||
                              kind == SlotKind::given_gradient || kind == SlotKind::no_gradient;
    wiring_.slots.push_back({kind, tensor, node, bytes, is_permanent, false});
    return static_cast<SlotId>(wiring_.slots.size() - 1);
  }

  SlotId add_gradient(TensorId tensor, NodeId node) {
    return add_slot(is_parameter(tensor) ? SlotKind::weight_gradient : SlotKind::gradient,
                    root(tensor), node, shop_.bound.tensors[root(tensor)].bytes);
  }

  // The program must have this step here: it says what the work is.
  const Step& take_step(NodeId node, Pass pass, bool is_gradient_sum) {
    STRATA_CHECK(next_step_ < program_.steps.size(), "the program has a step for every part");
    const Step& step = program_.steps[next_step_++];
    STRATA_CHECK(step.node == node && step.pass == pass && step.is_gradient_sum == is_gradient_sum,
                 "the wiring and the program agree");
    return step;
  }

  void add_stored() {
    for (TensorId id = 0; id < shop_.graph.tensors.size(); ++id) {
      const Tensor& tensor = shop_.graph.tensors[id];
      if (tensor.kind == TensorKind::activation) continue;
      wiring_.tensors[id] = add_slot(SlotKind::stored, id, no_node, shop_.bound.tensors[id].bytes);
    }
    for (NodeId id = 0; id < shop_.graph.nodes.size(); ++id) {
      for (const TensorId input : shop_.graph.nodes[id].inputs) {
        const SlotId slot = wiring_.tensors[input];
        if (slot != no_slot && wiring_.slots[slot].node == no_node) wiring_.slots[slot].node = id;
      }
    }
  }

  void forward(NodeId id) {
    const Node& node = shop_.graph.nodes[id];
    const NodeCost cost = nodes_.cost(id);
    if (only_renames(cost.forward)) return;
    const NodeAbility& ability = abilities_[id];
    WiredPart part{.node = id, .pass = Pass::forward, .runs = ability.runs};
    part.flop = take_step(id, Pass::forward, false).flop;
    part.read_bytes = cost.forward.read_bytes();
    part.write_bytes = cost.forward.write_bytes();
    for (const TensorId input : node.inputs) part.inputs.push_back(slot_of(input));
    for (const TensorId output : node.outputs) {
      SlotId& slot = wiring_.tensors[root(output)];
      if (slot == no_slot) {
        slot = add_slot(SlotKind::feature, output, id, shop_.bound.tensors[output].bytes);
        wiring_.slots[slot].is_permanent = !ability.runs;
      }
      part.outputs.push_back(slot);
    }
    if (!shop_.options.inference && ability.needs.saved_bytes > 0)
      part.saved = saved_[id] =
          add_slot(SlotKind::saved, node.outputs[0], id, ability.needs.saved_bytes);
    part.scratch = add_scratch(id);
    wiring_.parts.push_back(std::move(part));
  }

  SlotId add_scratch(NodeId id) {
    const std::int64_t bytes = abilities_[id].needs.scratch_bytes;
    if (bytes <= 0 || !abilities_[id].runs) return no_slot;
    return add_slot(SlotKind::scratch, shop_.graph.nodes[id].outputs[0], id, bytes);
  }

  void mark_results() {
    for (const TensorId output : shop_.graph.outputs) {
      // The loss is looked at; what training makes besides is not.
      const bool is_small = shop_.bound.tensors[output].elements == 1;
      const SlotId slot = slot_of(output);
      if (slot != no_slot && (shop_.options.inference || is_small))
        wiring_.slots[slot].is_result = true;
    }
  }

  void give_output_gradients() {
    std::vector<TensorId> outputs;
    for (const TensorId output : shop_.graph.outputs) {
      if (std::find(outputs.begin(), outputs.end(), output) == outputs.end())
        outputs.push_back(output);
    }
    for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) {
      if (!wants_gradient(*output)) continue;
      const TensorId tensor = root(*output);
      contribute(tensor, add_slot(SlotKind::given_gradient, tensor, no_node,
                                  shop_.bound.tensors[tensor].bytes));
    }
  }

  // A complete gradient of a tensor, perhaps under another name; a second one is added.
  void contribute(TensorId tensor, SlotId gradient) {
    SlotId& known = gradient_of(tensor);
    if (known == no_slot) {
      known = gradient;
      return;
    }
    const NodeId producer = shop_.graph.tensors[root(tensor)].producer;
    WiredPart part{.node = producer, .pass = Pass::backward_input, .is_gradient_sum = true};
    part.tensor = root(tensor);
    part.flop = take_step(producer, Pass::backward_input, true).flop;
    const bool accumulates = wiring_.slots[known].kind == SlotKind::weight_gradient;
    const SlotId sum = accumulates ? known : add_gradient(tensor, producer);
    part.operands = {known, gradient, sum};
    const std::int64_t bytes = wiring_.slots[sum].bytes;
    part.read_bytes = checked_mul(2, bytes);
    part.write_bytes = bytes;
    wiring_.parts.push_back(std::move(part));
    known = sum;
  }

  bool has_output_gradient(const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) {
      return wants_gradient(output) && gradient_of(output) != no_slot;
    });
  }

  void backward(NodeId id) {
    const Node& node = shop_.graph.nodes[id];
    const NodeCost cost = nodes_.cost(id);
    if (!cost.backward_input.exists() && !cost.backward_weight.exists()) return;
    if (only_renames(cost.forward) || !has_output_gradient(node)) return;
    const bool is_one = abilities_[id].needs.backward_is_one;
    std::optional<std::size_t> joined;
    for (const auto& [pass, pass_cost] :
         {std::pair{Pass::backward_input, &cost.backward_input},
          std::pair{Pass::backward_weight, &cost.backward_weight}}) {
      if (only_renames(*pass_cost)) continue;
      const std::int64_t flop = take_step(id, pass, false).flop;
      if (!joined) {
        wiring_.parts.push_back(new_backward(id, is_one ? Pass::backward : pass));
        if (is_one) joined = wiring_.parts.size() - 1;
      }
      WiredPart& part = joined ? wiring_.parts[*joined] : wiring_.parts.back();
      part.flop = checked_add(part.flop, flop);
      fill_backward(part, node, *pass_cost);
      settle();
    }
    alias_gradients(node, cost.backward_input);
    alias_gradients(node, cost.backward_weight);
  }

  WiredPart new_backward(NodeId id, Pass pass) {
    const Node& node = shop_.graph.nodes[id];
    const NodeAbility& ability = abilities_[id];
    WiredPart part{.node = id, .pass = pass, .runs = ability.runs};
    part.output_gradients.assign(node.outputs.size(), no_slot);
    part.input_gradients.assign(node.inputs.size(), no_slot);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const SlotId slot = slot_of(node.inputs[i]);
      const bool is_there = ability.needs.inputs || i >= node.first_own ||
                            (slot != no_slot && wiring_.slots[slot].is_permanent);
      part.inputs.push_back(is_there ? slot : no_slot);
    }
    for (const TensorId output : node.outputs)
      part.outputs.push_back(ability.needs.outputs ? slot_of(output) : no_slot);
    part.saved = saved_[id];
    part.scratch = add_scratch(id);
    return part;
  }

  void fill_backward(WiredPart& part, const Node& node, const PassCost& cost) {
    part.read_bytes = checked_add(part.read_bytes, cost.read_bytes());
    part.write_bytes = checked_add(part.write_bytes, cost.write_bytes());
    for (const Access& access : cost.accesses) {
      if (access.operand == Operand::output_gradient && access.mode == AccessMode::read)
        part.output_gradients[access.index] =
            output_gradient(part.node, node.outputs[access.index]);
    }
    for (const Access& access : cost.accesses) {
      if (access.operand == Operand::input_gradient && access.mode == AccessMode::write)
        part.input_gradients[access.index] = new_gradient(part, node.inputs[access.index]);
    }
  }

  SlotId output_gradient(NodeId node, TensorId output) {
    const SlotId gradient = gradient_of(output);
    if (gradient != no_slot || !wants_gradient(output)) return gradient;
    return add_slot(SlotKind::no_gradient, output, node, shop_.bound.tensors[output].bytes);
  }

  // Where a kernel writes the gradient of an input. A weight's adds up by itself; a feature's is a
  // contribution.
  SlotId new_gradient(WiredPart& part, TensorId input) {
    const SlotId earlier = gradient_of(input);
    if (is_parameter(input) && earlier == no_slot)
      return gradient_of(input) = undefined_unless_run(add_gradient(input, part.node), part);
    if (is_parameter(input) && wiring_.slots[earlier].kind == SlotKind::weight_gradient) {
      if (!part.runs) return no_slot;  // nothing is added
      const SlotId addend =
          add_slot(SlotKind::scratch, root(input), part.node, wiring_.slots[earlier].bytes);
      part.accumulations.push_back({earlier, addend});
      return addend;
    }
    const SlotId contribution = undefined_unless_run(add_gradient(input, part.node), part);
    pending_.push_back({root(input), contribution});
    return contribution;
  }

  // What nobody computes is zero, from the beginning on.
  SlotId undefined_unless_run(SlotId slot, const WiredPart& part) {
    if (!part.runs) wiring_.slots[slot].is_permanent = true;
    return slot;
  }

  void settle() {
    const std::vector<Contribution> pending = std::move(pending_);
    pending_.clear();
    for (const Contribution& one : pending) contribute(one.tensor, one.gradient);
  }

  void alias_gradients(const Node& node, const PassCost& cost) {
    for (const Access& access : cost.accesses) {
      if (access.operand != Operand::input_gradient || access.mode != AccessMode::alias) continue;
      const SlotId gradient = gradient_of(node.outputs[0]);
      if (gradient == no_slot) continue;
      const TensorId input = root(node.inputs[access.index]);
      STRATA_CHECK(wiring_.slots[gradient].bytes == shop_.bound.tensors[input].bytes,
                   "a gradient under another name has the same size");
      contribute(input, gradient);
    }
  }

  void updates() {
    for (TensorId id = 0; id < shop_.graph.tensors.size(); ++id) {
      const bool learns = shop_.graph.tensors[id].kind == TensorKind::parameter &&
                          wants_gradient(id) && gradient_of(id) != no_slot;
      if (!learns) continue;
      const SlotId gradient = gradient_of(id);
      wiring_.gradients[id] = gradient;
      wiring_.slots[gradient].is_result = true;
      if (shop_.options.optimizer != Optimizer::none) update(id, gradient);
    }
  }

  void update(TensorId id, SlotId gradient) {
    const BoundTensor& tensor = shop_.bound.tensors[id];
    const NodeId owner = program_.steps[next_step_].node;
    WiredPart part{.node = owner, .pass = Pass::update, .tensor = id};
    part.flop = take_step(owner, Pass::update, false).flop;
    const UpdateCost cost = update_cost(shop_.options.optimizer, tensor.elements, tensor.dtype);
    part.read_bytes = cost.read_bytes;
    part.write_bytes = cost.write_bytes;
    part.operands = {slot_of(id), gradient};
    const std::int64_t state_bytes =
        checked_mul(tensor.elements, static_cast<std::int64_t>(sizeof(float)));
    for (std::int64_t i = 0; i < cost.state_bytes / tensor.bytes; ++i)
      part.operands.push_back(add_slot(SlotKind::state, id, owner, state_bytes));
    wiring_.parts.push_back(std::move(part));
  }

  struct Contribution {
    TensorId tensor;
    SlotId gradient;
  };

  Workshop shop_;
  NodeSteps nodes_;
  Program program_;
  const std::vector<NodeAbility>& abilities_;
  std::vector<SlotId> gradients_;  // of every root, as they are at this point of backward
  std::vector<SlotId> saved_;      // of every node
  std::vector<Contribution> pending_;
  std::size_t next_step_ = 0;
  Wiring wiring_;
};

}  // namespace

std::vector<SlotId> slots_of(const WiredPart& part) {
  std::vector<SlotId> slots = part.operands;
  for (const auto* list :
       {&part.inputs, &part.outputs, &part.output_gradients, &part.input_gradients})
    slots.insert(slots.end(), list->begin(), list->end());
  for (const Accumulation& one : part.accumulations) {
    slots.push_back(one.sum);
    slots.push_back(one.addend);
  }
  slots.push_back(part.saved);
  slots.push_back(part.scratch);
  std::erase(slots, no_slot);
  return slots;
}

Wiring wire(const BoundGraph& bound, TrainingOptions options,
            const std::vector<NodeAbility>& abilities) {
  STRATA_CHECK(abilities.size() == bound.graph->nodes.size(), "what each node can do is known");
  return Wirer(bound, runnable(options), abilities).wiring();
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
