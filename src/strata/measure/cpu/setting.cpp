// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/setting.hpp"

#include "strata/measure/cpu/families.hpp"
#include "strata/measure/engine/number_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace strata::cpu_training {
namespace {

class RecipeKernels : public NodeKernels {
 public:
  RecipeKernels(Recipe recipe, std::vector<bool> is_parameter)
      : recipe_(std::move(recipe)), is_parameter_(std::move(is_parameter)) {}

  NodeNeeds needs() const override { return recipe_.needs; }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) return recipe_.forward(memory);
    if (pass == Pass::backward) return recipe_.backward(memory);
    NodeMemory of_pass = memory;
    for (std::size_t i = 0; i < of_pass.input_gradients.size(); ++i) {
      const bool is_of_pass = is_parameter_[i] == (pass == Pass::backward_weight);
      if (!is_of_pass) of_pass.input_gradients[i] = nullptr;
    }
    recipe_.backward(of_pass);
  }

  std::string implementation(Pass pass) const override {
    return recipe_.implementation ? recipe_.implementation(pass) : std::string();
  }

 private:
  Recipe recipe_;
  std::vector<bool> is_parameter_;
};

// All numbers that are not whole must be of one type, one that the CPU computes in.
std::optional<std::string> mixture_refusal(const Setting& setting) {
  std::optional<DType> found;
  const auto check = [&](TensorId id) -> std::optional<std::string> {
    const DType dtype = setting.bound.tensors[id].dtype;
    if (!is_floating(dtype)) return std::nullopt;
    if (dtype != DType::fp32 && dtype != DType::fp64) {
      return fmt::format("the CPU computes in fp32 and fp64, not {}", name_of(dtype));
    }
    if (found && *found != dtype) {
      return fmt::format("it mixes {} and {}", name_of(*found), name_of(dtype));
    }
    found = dtype;
    return std::nullopt;
  };
  for (const TensorId id : setting.node().inputs) {
    if (auto reason = check(id)) return reason;
  }
  for (const TensorId id : setting.node().outputs) {
    if (auto reason = check(id)) return reason;
  }
  return std::nullopt;
}

}  // namespace

bool Setting::has_backward() const {
  const auto wants_gradient = [&](TensorId tensor) { return bound.tensors[tensor].wants_gradient; };
  const std::vector<TensorId>& outputs = node().outputs;
  return is_training && std::any_of(outputs.begin(), outputs.end(), wants_gradient);
}

bool Setting::wants_any() const {
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (wants(i)) return true;
  }
  return false;
}

KernelsOrReason kernels_by(Recipe recipe, const Setting& setting) {
  std::vector<bool> is_parameter;
  for (std::size_t i = 0; i < setting.input_count(); ++i) {
    is_parameter.push_back(setting.is_parameter(i));
  }
  if (!setting.is_training) recipe.needs.saved_bytes = 0;
  return std::make_unique<RecipeKernels>(std::move(recipe), std::move(is_parameter));
}

KernelsOrReason kernels_of(const Setting& setting) {
  if (auto reason = type_refusal(setting.bound, setting.id)) return NoKernels{*reason};
  if (!std::holds_alternative<Cast>(setting.node().op)) {
    if (auto reason = mixture_refusal(setting)) return NoKernels{*reason};
  }
  return std::visit([&](const auto& op) { return make_kernels(op, setting); }, setting.node().op);
}

KernelsOrReason make_kernels(const Opaque& op, const Setting&) {
  return NoKernels{fmt::format("Strata does not know the operator {}", op.type)};
}

KernelsOrReason alias_kernels(const Setting& setting) {
  const Workers& workers = setting.workers;
  const auto copy = [&workers](void* to, const void* from, std::int64_t bytes) {
    if (to == from) return;
    workers.ranges(bytes, 4 * numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                  static_cast<std::size_t>(end - begin));
    });
  };
  const std::int64_t bytes = setting.output().bytes;
  return kernels_by(
      {.forward = [=](const NodeMemory& m) { copy(m.outputs[0], m.inputs[0], bytes); },
       .backward =
           [=](const NodeMemory& m) {
             if (m.input_gradients[0] == nullptr) return;
             copy(m.input_gradients[0], m.output_gradients[0], bytes);
           }},
      setting);
}

}  // namespace strata::cpu_training
