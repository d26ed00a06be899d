// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/training/program.hpp"
#include "strata/training/recurrent_run.hpp"

#include <fmt/core.h>

#include <array>
#include <type_traits>

namespace strata {

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "forward";
    case Pass::backward: return "backward";
    case Pass::backward_input: return "backward_input";
    case Pass::backward_weight: return "backward_weight";
    case Pass::update: return "update";
  }
  fail(ErrorKind::internal, "pass {} has no name", static_cast<int>(pass));
}

std::string_view name_of(LayerClass layer_class) {
  switch (layer_class) {
    case LayerClass::dense: return "dense";
    case LayerClass::pointwise: return "pointwise";
    case LayerClass::other: return "other";
  }
  fail(ErrorKind::internal, "layer class {} has no name", static_cast<int>(layer_class));
}

namespace {

template <class Op, class... Ops>
constexpr bool is_one_of = (std::is_same_v<Op, Ops> || ...);

}  // namespace

LayerClass class_of(const Operator& op) {
  return std::visit(
      [](const auto& alternative) {
        using Op = std::remove_cvref_t<decltype(alternative)>;
        if constexpr (is_one_of<Op, Convolution, Linear, MatMul, Attention, Recurrent>) {
          return LayerClass::dense;
        } else if constexpr (is_one_of<Op, BatchNorm, LayerNorm, RmsNorm, GroupNorm,
                                       LocalResponseNorm, Unary, Elementwise, Softmax, Dropout,
                                       RotaryEmbedding, SoftmaxCrossEntropy, SquaredError, Yolo>) {
          return LayerClass::pointwise;
        } else {
          return LayerClass::other;
        }
      },
      op);
}

std::string name_of(const Program& program, StepId id) {
  const Step& step = program.steps[id];
  if (program.bound == nullptr) return fmt::format("step {}", id);
  if (step.is_gradient_sum) {
    const ValueId sum = program.value_at(id, {Operand::output, 0});
    return fmt::format("sum for {}", value_name(program, sum));
  }
  if (step.node == no_node) return fmt::format("loss {}", name_of(step.pass));
  const Node& node = program.bound->graph->nodes[step.node];
  std::string name = fmt::format("{} {}", node.name, name_of(step.pass));
  if (step.is_recomputed) name += " again";
  if (step.time > 0) name += fmt::format(" t={}", step.time);
  if (step.time > 0 && std::holds_alternative<Recurrent>(node.op))
    name += step.layer_class == LayerClass::dense ? " gates" : " cell";
  return name;
}

namespace {

// The part of a value that a recurrent layer makes tells its time step and what of the cell it is.
std::string recurrent_part(const BoundGraph& bound, const Node& node, std::uint32_t part) {
  constexpr std::array<std::string_view, cell_slots> words = {
      "gate i before", "gate f before", "gate g before", "gate o before", "gate i",      "gate f",
      "gate g",        "gate o",        "cell",          "tanh of cell",  "unprojected", "hidden",
      "term",          "term",          "term",          "hidden before"};
  constexpr std::array<std::string_view, 8> gru_words = {
      "gate r before", "gate z before", "gate n before", "state product",
      "gate r",        "gate z",        "gate n",        "gate"};
  const auto& op = std::get<Recurrent>(node.op);
  const auto directions = static_cast<std::uint32_t>(op.bidirectional ? 2 : 1);
  const auto times = static_cast<std::uint32_t>(bound.tensors[node.outputs[0]][1]);
  if (part < times * directions) return fmt::format("t={}", part / directions + 1);
  const std::uint32_t code = part - times * directions;
  const std::uint32_t slot = code % cell_slots;
  const std::uint32_t time = code / cell_slots % times + 1;
  const std::uint32_t row = code / cell_slots / times;
  const bool is_gru = op.cell == CellKind::gru && slot < gru_words.size();
  std::string text(is_gru ? gru_words[slot] : words[slot]);
  if (op.layers * directions > 1) text += fmt::format(" {}", row);
  return text + fmt::format(" t={}", time);
}

std::string part_text(const Program& program, const Value& value) {
  const BoundGraph& bound = *program.bound;
  const Tensor& tensor = bound.graph->tensors[value.tensor];
  if (tensor.producer != no_node) {
    const Node& node = bound.graph->nodes[tensor.producer];
    const bool is_cut = value.bytes < bound.tensors[value.tensor].bytes;
    if (std::holds_alternative<Recurrent>(node.op) && node.outputs[0] == value.tensor && is_cut)
      return " " + recurrent_part(bound, node, value.part);
  }
  return value.part == 0 ? "" : fmt::format("[{}]", value.part);
}

}  // namespace

std::string value_name(const Program& program, ValueId id) {
  const Value& value = program.values[id];
  if (program.bound == nullptr) return fmt::format("value {}", id);
  const Tensor& tensor = program.bound->graph->tensors[value.tensor];
  if (value.kind == ValueKind::input && tensor.kind != TensorKind::input)
    return fmt::format("targets of {}", tensor.name);
  const std::string name = tensor.name + part_text(program, value);
  switch (value.kind) {
    case ValueKind::saved: return "saved of " + name;
    case ValueKind::gradient:
    case ValueKind::weight_gradient: return "gradient of " + name;
    case ValueKind::state: return tensor.kind == TensorKind::parameter ? "state of " + name : name;
    default: return name;
  }
}

}  // namespace strata
