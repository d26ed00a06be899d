// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/order.hpp"

#include "strata/base/error.hpp"

namespace strata::onnx {
namespace {

using NodeIndex = std::uint32_t;
constexpr NodeIndex nobody = ~NodeIndex{0};
constexpr NodeIndex given = nobody - 1;  // an input of the graph or an initializer

std::vector<NodeIndex> producers_of(const FlatGraph& flat) {
  std::vector<NodeIndex> producers(flat.value_names.size(), nobody);
  for (const FlatValueId id : flat.inputs) producers[id] = given;
  for (const FlatValueId id : flat.initializers) producers[id] = given;
  for (NodeIndex i = 0; i < flat.nodes.size(); ++i) {
    for (const FlatValueId output : flat.outputs_of(flat.nodes[i])) {
      if (output == no_flat_value) continue;
      if (producers[output] != nobody) {
        fail(ErrorKind::input, "{}: makes {}, which is {}", place_of(*flat.nodes[i].def),
             quoted(flat.value_names[output]),
             producers[output] == given
                 ? "an input or an initializer"
                 : "made by another node as well; in ONNX every value is made once");
      }
      producers[output] = i;
    }
  }
  return producers;
}

/// Walks from the outputs back to what they are made of. Each node is entered after everything it
/// needs; an explicit stack, because files nest as deep as they like.
class Walk {
 public:
  explicit Walk(const FlatGraph& flat)
      : flat_(flat), producers_(producers_of(flat)), state_(flat.nodes.size(), State::unseen) {}

  std::vector<NodeIndex> needed_in_order() {
    mark_needed();
    for (NodeIndex node = 0; node < flat_.nodes.size(); ++node) {
      if (is_needed_[node]) enter(node);
    }
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { unseen, open, done };
  struct Step {
    NodeIndex node;
    std::uint32_t next_input;
  };

  void mark_needed() {
    is_needed_.assign(flat_.nodes.size(), false);
    std::vector<NodeIndex> pending;
    const auto need = [&](FlatValueId value, const char* who) {
      if (value == no_flat_value) return;
      const NodeIndex producer = producers_[value];
      if (producer == nobody) {
        fail(ErrorKind::input, "{} {} is made by no node", who, quoted(flat_.value_names[value]));
      }
      if (producer == given || is_needed_[producer]) return;
      is_needed_[producer] = true;
      pending.push_back(producer);
    };
    for (const FlatValueId output : flat_.outputs) need(output, "output");
    while (!pending.empty()) {
      const FlatNode& node = flat_.nodes[pending.back()];
      pending.pop_back();
      try {
        for (const FlatValueId input : flat_.inputs_of(node)) need(input, "input");
      } catch (Error& error) {
        error.add_context(place_of(*node.def));
        throw;
      }
    }
  }

  void enter(NodeIndex root) {
    if (state_[root] == State::done) return;
    std::vector<Step>& stack = stack_;
    stack.push_back({root, 0});
    state_[root] = State::open;
    while (!stack.empty()) {
      Step& step = stack.back();
      const std::span<const FlatValueId> inputs = flat_.inputs_of(flat_.nodes[step.node]);
      if (step.next_input == inputs.size()) {
        state_[step.node] = State::done;
        order_.push_back(step.node);
        stack.pop_back();
        continue;
      }
      const FlatValueId input = inputs[step.next_input++];
      const NodeIndex producer = input == no_flat_value ? given : producers_[input];
      if (producer == given || state_[producer] == State::done) continue;
      if (state_[producer] == State::open) {
        fail(ErrorKind::input, "{}: needs its own result: the graph has a cycle through {}",
             place_of(*flat_.nodes[producer].def), quoted(flat_.value_names[input]));
      }
      state_[producer] = State::open;
      stack.push_back({producer, 0});
    }
  }

  const FlatGraph& flat_;
  std::vector<NodeIndex> producers_;
  std::vector<State> state_;
  std::vector<bool> is_needed_;
  std::vector<NodeIndex> order_;
  std::vector<Step> stack_;
};

}  // namespace

void put_in_order(FlatGraph& flat) {
  const std::vector<NodeIndex> order = Walk(flat).needed_in_order();
  std::vector<FlatNode> ordered;
  ordered.reserve(order.size());
  for (const NodeIndex node : order) ordered.push_back(flat.nodes[node]);
  flat.nodes = std::move(ordered);
}

}  // namespace strata::onnx
