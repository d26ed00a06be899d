// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/training/program.hpp"

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
    case LayerClass::type_1: return "type I";
    case LayerClass::type_2: return "type II";
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
          return LayerClass::type_1;
        } else if constexpr (is_one_of<Op, BatchNorm, LayerNorm, RmsNorm, GroupNorm,
                                       LocalResponseNorm, Unary, Elementwise, Softmax, Dropout,
                                       RotaryEmbedding, SoftmaxCrossEntropy, SquaredError, Yolo>) {
          return LayerClass::type_2;
        } else {
          return LayerClass::other;
        }
      },
      op);
}

namespace {

std::string_view node_name(const Program& program, NodeId node) {
  if (node == no_node || program.bound == nullptr) return "";
  return program.bound->graph->nodes[node].name;
}

std::string_view tensor_name(const Program& program, TensorId tensor) {
  return program.bound->graph->tensors[tensor].name;
}

}  // namespace

std::string name_of(const Program& program, StepId id) {
  const Step& step = program.steps[id];
  if (program.bound == nullptr) return fmt::format("step {}", id);
  if (step.is_gradient_sum) {
    const Use& sum = program.uses_of(id).back();
    return fmt::format("sum for {}", value_name(program, sum.value));
  }
  const std::string_view node = step.node == no_node ? "loss" : node_name(program, step.node);
  std::string name = fmt::format("{} {}", node, name_of(step.pass));
  if (step.is_recomputed) name += " again";
  if (step.time > 0) name += fmt::format(" t={}", step.time);
  return name;
}

std::string value_name(const Program& program, ValueId id) {
  const Value& value = program.values[id];
  if (program.bound == nullptr) return fmt::format("value {}", id);
  const std::string_view tensor = tensor_name(program, value.tensor);
  const std::string part = value.part == 0 ? "" : fmt::format("[{}]", value.part);
  switch (value.kind) {
    case ValueKind::saved: return fmt::format("saved of {}{}", tensor, part);
    case ValueKind::gradient:
    case ValueKind::weight_gradient: return fmt::format("gradient of {}{}", tensor, part);
    case ValueKind::state: return fmt::format("state of {}{}", tensor, part);
    default: return fmt::format("{}{}", tensor, part);
  }
}

}  // namespace strata
