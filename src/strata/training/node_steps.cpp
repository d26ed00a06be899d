// SPDX-License-Identifier: Apache-2.0
#include "strata/training/node_steps.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <limits>

namespace strata {
namespace {

bool is_max_pool(const Operator& op) {
  const auto* pool = std::get_if<Pool>(&op);
  const auto* adaptive = std::get_if<AdaptivePool>(&op);
  return (pool && pool->kind == PoolKind::maximum) ||
         (adaptive && adaptive->kind == PoolKind::maximum);
}

// Without indices, backward finds the maximum again: it reads X and Y.
void keep_input_of_pool(NodeCost& cost, const BoundGraph& bound, const Node& node) {
  if (cost.saved.empty()) return;
  cost.saved.clear();
  std::erase_if(cost.forward.accesses,
                [](const Access& access) { return access.operand == Operand::saved; });
  for (Access& access : cost.backward_input.accesses) {
    if (access.operand == Operand::saved)
      access = {Operand::input, AccessMode::read, 0, bound.tensors[node.inputs[0]].bytes};
  }
  cost.backward_input.accesses.push_back(
      {Operand::output, AccessMode::read, 0, bound.tensors[node.outputs[0]].bytes});
}

// Nothing is known of the gradients of an unknown operator. It is taken to read the gradient of
// each output and to write each gradient that is wanted.
void pass_gradients_through(NodeCost& cost, const BoundGraph& bound, const Node& node) {
  const auto wants = [&](TensorId id) { return bound.tensors[id].wants_gradient; };
  if (std::none_of(node.outputs.begin(), node.outputs.end(), wants)) return;
  std::vector<Access>& accesses = cost.backward_input.accesses;
  for (std::uint32_t i = 0; i < node.inputs.size(); ++i) {
    if (wants(node.inputs[i]))
      accesses.push_back(
          {Operand::input_gradient, AccessMode::write, i, bound.tensors[node.inputs[i]].bytes});
  }
  if (accesses.empty()) return;
  for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
    if (wants(node.outputs[i]))
      accesses.push_back(
          {Operand::output_gradient, AccessMode::read, i, bound.tensors[node.outputs[i]].bytes});
  }
}

std::uint64_t open_key(NodeId node, ValueId value) { return std::uint64_t{node} << 32 | value; }

std::uint32_t times_of(const ProgramBuilder& builder, const Instance& instance) {
  if (instance.time == 0) return 1;
  const Parting parting = builder.unrolling.parting(builder.graph.nodes[instance.node].outputs[0]);
  return parting.count / parting.per_time;
}

}  // namespace

struct NodeSteps::Part {
  NodeId id;
  const Node& node;
  std::uint32_t time;   // 0: all of the node
  std::uint32_t times;  // so many parts make the node

  // This part's share of a count, so that all shares together are exact.
  std::int64_t share(std::int64_t whole) const {
    if (time == 0) return whole;
    const auto up_to = [&](std::int64_t n) {
      return checked_mul(whole / times, n) + whole % times * n / times;
    };
    return up_to(time) - up_to(time - std::int64_t{1});
  }
};

NodeSteps::NodeSteps(ProgramBuilder& builder)
    : builder_(builder), first_saved_(builder.graph.nodes.size(), no_value) {}

NodeCost NodeSteps::cost(NodeId id) const {
  const Node& node = builder_.graph.nodes[id];
  NodeCost cost = cost_of(builder_.bound, id, builder_.mode);
  if (builder_.options.pool_keeps_input && is_max_pool(node.op))
    keep_input_of_pool(cost, builder_.bound, node);
  if (!cost.is_counted && builder_.mode == Mode::training)
    pass_gradients_through(cost, builder_.bound, node);
  return cost;
}

Step NodeSteps::step_of(const Part& part, Pass pass) const {
  return {.node = part.id, .pass = pass, .layer_class = class_of(part.node.op), .time = part.time};
}

ValueIds NodeSteps::input_values(const Part& part, std::uint32_t input) const {
  const TensorId tensor = part.node.inputs[input];
  if (part.time > 0 && reads_own_time(builder_.bound, builder_.unrolling, part.id, input))
    return builder_.values.at(tensor, part.time);
  return builder_.values.of(tensor);
}

ValueIds NodeSteps::output_values(const Part& part, std::uint32_t output) const {
  return builder_.values.at(part.node.outputs[output], part.time);
}

// As many as the first output has or, where that is a sum of all, the first input. An unknown
// operator may have no input.
std::int64_t NodeSteps::rows_of(const Node& node) const {
  std::int64_t rows = 1;
  for (const std::vector<TensorId>* ids : {&node.outputs, &node.inputs}) {
    if (ids->empty()) continue;
    const BoundTensor& tensor = builder_.bound.tensors[ids->front()];
    rows = std::max(rows, tensor.bytes / row_bytes(tensor, {}, false, tensor.bytes));
  }
  return rows;
}

// Saved things lie one after the other, and of each all time steps.
void NodeSteps::make_saved(const Part& part, const NodeCost& cost) {
  if (part.time > 1) return;  // the first time step has made them
  const std::int64_t rows = rows_of(part.node);
  for (std::uint32_t index = 0; index < cost.saved.size(); ++index) {
    for (std::uint32_t time = 1; time <= part.times; ++time) {
      const Part one{part.id, part.node, part.times > 1 ? time : 0, part.times};
      const std::int64_t bytes = std::max<std::int64_t>(one.share(cost.saved[index].bytes), 1);
      const ValueId id = builder_.writer.add(
          {.kind = ValueKind::saved,
           .tensor = part.node.outputs[0],
           .part = index * part.times + time - 1,
           .bytes = bytes,
           .row_bytes = std::max<std::int64_t>(cost.saved[index].bytes / rows, 1)});
      if (index == 0 && time == 1) first_saved_[part.id] = id;
      if (builder_.writer.value(id).row_bytes > bytes) builder_.writer.value(id).row_bytes = bytes;
    }
  }
}

ValueId NodeSteps::saved_value(const Part& part, const NodeCost&, std::uint32_t index) {
  const std::uint32_t time = part.time == 0 ? 0 : part.time - 1;
  return first_saved_[part.id] + index * part.times + time;
}

void NodeSteps::forward_access(const Part& part, const NodeCost& cost, const Access& access,
                               bool is_recomputed) {
  ProgramWriter& writer = builder_.writer;
  const StepOperand as{access.operand, access.index};
  const auto enter = [&](const ValueIds& ids) {
    for (std::uint32_t i = 0; i < ids.count; ++i)
      access.mode == AccessMode::read ? writer.reads(ids[i], as) : writer.writes(ids[i], as);
  };
  switch (access.operand) {
    case Operand::input: {
      const TensorId tensor = part.node.inputs[access.index];
      const Tensor& stored = builder_.graph.tensors[tensor];
      const bool is_stored =
          stored.kind == TensorKind::parameter || stored.kind == TensorKind::constant;
      if (access.mode == AccessMode::read && is_stored &&
          access.bytes < builder_.bound.tensors[tensor].bytes && part.time == 0)
        return writer.reads(builder_.values.looked_up(tensor, access.bytes), as);
      if (access.mode == AccessMode::write) {
        if (is_recomputed) return;  // running statistics move on once
        const ValueIds ids = input_values(part, access.index);
        for (std::uint32_t i = 0; i < ids.count; ++i) {
          writer.value(ids[i]).kind = ValueKind::state;
          writer.value(ids[i]).is_result = true;
        }
      }
      return enter(input_values(part, access.index));
    }
    case Operand::output: {
      const TensorId output = part.node.outputs[access.index];
      if (is_recomputed && builder_.values.exist(output)) return;  // it was kept
      return enter(output_values(part, access.index));
    }
    case Operand::saved: return enter({saved_value(part, cost, access.index), 1});
    default: STRATA_CHECK(false, "forward touches no gradient");
  }
}

void NodeSteps::forward(const Instance& instance, bool is_recomputed) {
  const Part part{instance.node, builder_.graph.nodes[instance.node], instance.time,
                  times_of(builder_, instance)};
  const NodeCost cost = this->cost(part.id);
  if (cost.forward.only_renames()) return;
  make_saved(part, cost);
  Step step = step_of(part, Pass::forward);
  step.is_recomputed = is_recomputed;
  builder_.writer.begin(step);
  builder_.writer.add_work(part.share(cost.forward.flop), part.share(cost.forward.mac));
  for (const Access& access : cost.forward.accesses)
    forward_access(part, cost, access, is_recomputed);
}

bool NodeSteps::has_output_gradient(const Part& part) const {
  for (std::uint32_t output = 0; output < part.node.outputs.size(); ++output) {
    if (!builder_.bound.tensors[part.node.outputs[output]].wants_gradient) continue;
    const ValueIds ids = output_values(part, output);
    for (std::uint32_t i = 0; i < ids.count; ++i) {
      if (builder_.gradients.of(ids[i])) return true;
    }
  }
  return false;
}

void NodeSteps::backward(const Instance& instance) {
  const Part part{instance.node, builder_.graph.nodes[instance.node], instance.time,
                  times_of(builder_, instance)};
  const NodeCost cost = this->cost(part.id);
  const PassCost& input = cost.backward_input;
  const PassCost& weight = cost.backward_weight;
  if (!input.exists() && !weight.exists()) return;
  if (cost.forward.only_renames()) return;  // the output is the input, and so is its gradient
  if (!has_output_gradient(part)) return;
  if (builder_.options.separate_backward) {
    backward_step(part, cost, Pass::backward_input, {&input});
    backward_step(part, cost, Pass::backward_weight, {&weight});
  } else {
    backward_step(part, cost, Pass::backward, {&input, &weight});
  }
  alias_gradients(part, input);
  alias_gradients(part, weight);
  if (part.time == 1) end_open_contributions(part);
}

void NodeSteps::backward_step(const Part& part, const NodeCost& cost, Pass pass,
                              std::initializer_list<const PassCost*> passes) {
  const auto is_empty = [](const PassCost* one) { return one->only_renames(); };
  if (std::all_of(passes.begin(), passes.end(), is_empty)) return;
  builder_.writer.begin(step_of(part, pass));
  for (const PassCost* one : passes) {
    builder_.writer.add_work(part.share(one->flop), part.share(one->mac));
    // What is read comes first: a step may overwrite what it has read, not read what it has made.
    for (const Access& access : one->accesses) {
      if (access.mode == AccessMode::read) backward_access(part, cost, access);
    }
    for (const Access& access : one->accesses) {
      if (access.mode == AccessMode::write) backward_access(part, cost, access);
    }
  }
  builder_.gradients.settle(part.time);
}

void NodeSteps::backward_access(const Part& part, const NodeCost& cost, const Access& access) {
  ProgramWriter& writer = builder_.writer;
  const StepOperand as{access.operand, access.index};
  switch (access.operand) {
    case Operand::input_gradient: return write_input_gradient(part, access.index);
    case Operand::saved: {
      const ValueId id = saved_value(part, cost, access.index);
      return access.mode == AccessMode::read ? writer.reads(id, as) : writer.writes(id, as);
    }
    case Operand::output_gradient: return read_output_gradient(part, access.index);
    case Operand::input:
    case Operand::output: {
      const ValueIds ids = access.operand == Operand::input ? input_values(part, access.index)
                                                            : output_values(part, access.index);
      for (std::uint32_t i = 0; i < ids.count; ++i) writer.reads(ids[i], as);
      return;
    }
    default: STRATA_CHECK(false, "a cost sheet has no such operand");
  }
}

// Where only functions without a gradient read the output, its gradient is zero, and nobody has
// written it.
void NodeSteps::read_output_gradient(const Part& part, std::uint32_t output) {
  const StepOperand as{Operand::output_gradient, output};
  const ValueIds ids = output_values(part, output);
  for (std::uint32_t i = 0; i < ids.count; ++i) {
    if (const auto gradient = builder_.gradients.of(ids[i])) {
      builder_.writer.reads(*gradient, as);
    } else if (builder_.bound.tensors[part.node.outputs[output]].wants_gradient) {
      builder_.writer.lacks(as);
    }
  }
}

// A weight's gradient adds up by itself. Of a feature that every time step reads whole, all time
// steps add to one contribution.
void NodeSteps::write_input_gradient(const Part& part, std::uint32_t input) {
  const StepOperand as{Operand::input_gradient, input};
  const ValueIds ids = input_values(part, input);
  const bool adds_up =
      part.time > 0 && !reads_own_time(builder_.bound, builder_.unrolling, part.id, input);
  for (std::uint32_t i = 0; i < ids.count; ++i) {
    if (!adds_up || builder_.writer.value(ids[i]).kind == ValueKind::weight) {
      builder_.gradients.write(ids[i], as);
      continue;
    }
    const auto [entry, is_new] = open_.try_emplace(open_key(part.id, ids[i]), no_value);
    if (is_new) {
      entry->second = builder_.gradients.make(ids[i]);
    } else {
      builder_.writer.reads(entry->second, as);
    }
    builder_.writer.writes(entry->second, as);
  }
}

void NodeSteps::end_open_contributions(const Part& part) {
  for (std::uint32_t input = 0; input < part.node.inputs.size(); ++input) {
    if (reads_own_time(builder_.bound, builder_.unrolling, part.id, input)) continue;
    const ValueIds ids = builder_.values.of(part.node.inputs[input]);
    for (std::uint32_t i = 0; i < ids.count; ++i) {
      const auto entry = open_.find(open_key(part.id, ids[i]));
      if (entry == open_.end()) continue;
      builder_.gradients.contribute(ids[i], entry->second, part.time);
      open_.erase(entry);
    }
  }
}

void NodeSteps::alias_gradients(const Part& part, const PassCost& pass) {
  for (const Access& access : pass.accesses) {
    if (access.operand != Operand::input_gradient || access.mode != AccessMode::alias) continue;
    const ValueIds from = output_values(part, 0);
    const ValueIds to = input_values(part, access.index);
    const auto bytes = [&](ValueId id) { return builder_.writer.value(id).bytes; };
    if (from.count != to.count || bytes(from[0]) != bytes(to[0])) {
      copy_gradient(part, from, access.index);
      continue;
    }
    for (std::uint32_t i = 0; i < from.count; ++i) {
      if (const auto gradient = builder_.gradients.of(from[i]))
        builder_.gradients.contribute(to[i], *gradient, part.time);
    }
  }
}

// Tensors that are cut differently cannot be aliases.
void NodeSteps::copy_gradient(const Part& part, const ValueIds& from, std::uint32_t input) {
  Step step =
      step_of(part, builder_.options.separate_backward ? Pass::backward_input : Pass::backward);
  step.layer_class = LayerClass::other;
  builder_.writer.begin(step);
  for (std::uint32_t i = 0; i < from.count; ++i) {
    if (const auto gradient = builder_.gradients.of(from[i]))
      builder_.writer.reads(*gradient, {Operand::output_gradient, 0});
  }
  write_input_gradient(part, input);
  builder_.gradients.settle(part.time);
}

}  // namespace strata
