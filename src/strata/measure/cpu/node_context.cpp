// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/node_context.hpp"

#include "strata/measure/cpu/lab_convolutions.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/engine/number_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace strata::cpu_training {
namespace {

class PairKernels : public NodeKernels {
 public:
  PairKernels(KernelPair pair, std::vector<bool> is_parameter)
      : pair_(std::move(pair)), is_parameter_(std::move(is_parameter)) {}

  NodeNeeds needs() const override { return pair_.needs; }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) return pair_.forward(memory);
    if (pass == Pass::backward) return pair_.backward(memory);
    NodeMemory of_pass = memory;
    for (std::size_t i = 0; i < of_pass.input_gradients.size(); ++i) {
      const bool is_of_pass = is_parameter_[i] == (pass == Pass::backward_weight);
      if (!is_of_pass) of_pass.input_gradients[i] = nullptr;
    }
    pair_.backward(of_pass);
  }

  std::string implementation(Pass pass) const override {
    switch (pass) {
      case Pass::forward: return pair_.forward_by;
      case Pass::backward_input: return pair_.input_gradients_by;
      case Pass::backward_weight: return pair_.weight_gradients_by;
      default: return joined_names({pair_.input_gradients_by, pair_.weight_gradients_by});
    }
  }

 private:
  KernelPair pair_;
  std::vector<bool> is_parameter_;
};

// All floating-point tensors must be of one type, one that the CPU computes in.
std::optional<std::string> mixture_refusal(const NodeContext& context) {
  std::vector<TensorId> tensors = context.node().inputs;
  tensors.insert(tensors.end(), context.node().outputs.begin(), context.node().outputs.end());
  std::optional<DType> found;
  for (const TensorId id : tensors) {
    const DType dtype = context.bound.tensors[id].dtype;
    if (!is_floating(dtype)) continue;
    if (dtype != DType::fp32 && dtype != DType::fp64) {
      return fmt::format("the CPU computes in fp32 and fp64, not {}", name_of(dtype));
    }
    if (found && *found != dtype) {
      return fmt::format("it mixes {} and {}", name_of(*found), name_of(dtype));
    }
    found = dtype;
  }
  return std::nullopt;
}

KernelPairOrReason pair_of(const NodeContext& context) {
  if (context.uses_onednn) {
    if (std::optional<KernelPair> pair = onednn::kernels_of(context)) return *std::move(pair);
  }
  return std::visit([&](const auto& op) { return plain::make_kernels(op, context); },
                    context.node().op);
}

}  // namespace

bool NodeContext::has_backward() const {
  const auto wants_gradient = [&](TensorId tensor) { return bound.tensors[tensor].wants_gradient; };
  const std::vector<TensorId>& outputs = node().outputs;
  return is_training && std::any_of(outputs.begin(), outputs.end(), wants_gradient);
}

bool NodeContext::wants_any() const {
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (wants(i)) return true;
  }
  return false;
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string joined;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty() || std::find(names.begin(), name, *name) != name) continue;
    joined += (joined.empty() ? "" : ", ") + *name;
  }
  return joined;
}

std::unique_ptr<NodeKernels> make_node_kernels(KernelPair pair, const NodeContext& context) {
  std::vector<bool> is_parameter;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    is_parameter.push_back(context.is_parameter(i));
  }
  if (!context.is_training) pair.needs.saved_bytes = 0;
  return std::make_unique<PairKernels>(std::move(pair), std::move(is_parameter));
}

KernelsOrReason kernels_of(const NodeContext& context) {
  if (auto reason = type_refusal(context.bound, context.id)) return NoKernels{*reason};
  if (!std::holds_alternative<Cast>(context.node().op)) {
    if (auto reason = mixture_refusal(context)) return NoKernels{*reason};
  }
  KernelPairOrReason made = pair_of(context);
  if (auto* const none = std::get_if<NoKernels>(&made)) return *none;
  KernelPair& pair = std::get<KernelPair>(made);
  const auto* const convolution = std::get_if<Convolution>(&context.node().op);
  if (context.lab != nullptr && convolution != nullptr) {
    pair = context.lab->with_strategies(*convolution, context, std::move(pair));
  }
  return make_node_kernels(std::move(pair), context);
}

}  // namespace strata::cpu_training
