// SPDX-License-Identifier: Apache-2.0
#include "strata/training/updates.hpp"

#include "strata/base/error.hpp"

#include <vector>

namespace strata {
namespace {

// The first node that reads each parameter: the layer to which its update belongs.
std::vector<NodeId> owners_of(const Graph& graph) {
  std::vector<NodeId> owners(graph.tensors.size(), no_node);
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    for (const TensorId input : graph.nodes[node].inputs) {
      if (owners[input] == no_node) owners[input] = node;
    }
  }
  return owners;
}

class Update {
 public:
  Update(ProgramBuilder& builder, TensorId parameter, NodeId owner)
      : builder_(builder),
        parameter_(parameter),
        owner_(owner),
        ids_(builder.values.of(parameter)) {}

  void write() {
    if (first_gradient() == no_value) return;
    if (builder_.options.optimizer == Optimizer::none) return keep_gradients();
    const BoundTensor& tensor = builder_.bound.tensors[parameter_];
    // Mixed precision: the optimizer updates the fp32 master weights.
    const bool has_master = builder_.options.master_weights &&
                            bytes_per_element(tensor.dtype) < bytes_per_element(DType::fp32);
    const DType dtype = has_master ? DType::fp32 : tensor.dtype;
    const UpdateCost cost = update_cost(builder_.options.optimizer, tensor.elements, dtype);
    const std::int64_t full_bytes = (Count(tensor.elements) * bytes_per_element(dtype)).value();

    std::vector<ValueId> states;
    if (has_master) states.push_back(add_state(0, full_bytes));
    for (std::int64_t i = 0; i < cost.state_bytes / full_bytes; ++i)
      states.push_back(add_state(static_cast<std::uint32_t>(i) + 1, full_bytes));

    ProgramWriter& writer = builder_.writer;
    writer.begin({.node = owner_, .pass = Pass::update, .layer_class = LayerClass::pointwise});
    for (std::uint32_t i = 0; i < ids_.count; ++i) {
      if (!has_master) writer.reads(ids_[i], {Operand::input, i});
      if (const auto gradient = builder_.gradients.of(ids_[i]))
        writer.reads(*gradient, {Operand::input_gradient, i});
      writer.writes(ids_[i], {Operand::input, i});
      writer.value(ids_[i]).is_result = true;
    }
    for (std::uint32_t i = 0; i < states.size(); ++i) {
      writer.reads(states[i], {Operand::state, i});
      writer.writes(states[i], {Operand::state, i});
    }
    writer.add_work(cost.flop, 0);
  }

  /// Of the pieces of the weight, the first that has one.
  ValueId first_gradient() const {
    for (std::uint32_t i = 0; i < ids_.count; ++i) {
      if (const auto gradient = builder_.gradients.of(ids_[i])) return *gradient;
    }
    return no_value;
  }

 private:
  void keep_gradients() {
    for (std::uint32_t i = 0; i < ids_.count; ++i) {
      if (const auto gradient = builder_.gradients.of(ids_[i]))
        builder_.writer.value(*gradient).is_result = true;
    }
  }

  ValueId add_state(std::uint32_t part, std::int64_t bytes) {
    return builder_.writer.add(
        {.kind = ValueKind::state,
         .is_given = true,
         .is_result = true,
         .tensor = parameter_,
         .part = part,
         .bytes = bytes,
         .row_bytes = row_bytes(builder_.bound.tensors[parameter_], {}, true, bytes)});
  }

  ProgramBuilder& builder_;
  TensorId parameter_;
  NodeId owner_;
  ValueIds ids_;
};

}  // namespace

std::vector<ValueId> write_updates(ProgramBuilder& builder) {
  const std::vector<NodeId> owners = owners_of(builder.graph);
  std::vector<ValueId> gradients(builder.graph.tensors.size(), no_value);
  for (TensorId id = 0; id < builder.graph.tensors.size(); ++id) {
    const bool learns = builder.graph.tensors[id].kind == TensorKind::parameter &&
                        builder.bound.tensors[id].wants_gradient;
    if (!learns) continue;
    Update update(builder, id, owners[id]);
    update.write();
    gradients[id] = update.first_gradient();
  }
  return gradients;
}

}  // namespace strata
