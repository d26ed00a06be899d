// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/lab_convolutions.hpp"

#include "strata/base/error.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/measure/cpu/conv_windows.hpp"
#include "strata/measure/cpu/plain/bias.hpp"
#include "strata/measure/cpu/strategy_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace strata::cpu_training {
namespace {

/// Which of the three sums of its windows a pass of the node is.
ConvPass sum_of(Pass pass, bool is_transposed) {
  if (pass == Pass::backward_weight) return ConvPass::weight_gradient;
  return (pass == Pass::forward) == !is_transposed ? ConvPass::forward : ConvPass::input_gradient;
}

/// Memory of a node that runs alone, to be timed.
struct TrialMemory {
  std::vector<std::vector<float>> tensors;
  std::vector<std::byte> saved, scratch;
  NodeMemory memory;

  explicit TrialMemory(const NodeContext& context) {
    const auto room = [&](const BoundTensor& tensor) -> void* {
      return tensors.emplace_back(static_cast<std::size_t>(tensor.elements), 0.5F).data();
    };
    tensors.reserve(2 * (context.input_count() + 1));
    for (std::size_t i = 0; i < context.input_count(); ++i) {
      memory.inputs.push_back(room(context.input(i)));
      memory.input_gradients.push_back(room(context.input(i)));
    }
    memory.outputs.push_back(room(context.output()));
    memory.output_gradients.push_back(room(context.output()));
  }

  /// The shorter of two runs after one that pays for pages and caches.
  double seconds_of(NodeKernels& kernels, Pass pass) {
    saved.resize(static_cast<std::size_t>(kernels.needs().saved_bytes));
    scratch.resize(static_cast<std::size_t>(kernels.needs().scratch_bytes));
    memory.saved = saved.data();
    memory.scratch = scratch.data();
    double best = 0;
    for (int run = 0; run < 3; ++run) {
      const auto start = std::chrono::steady_clock::now();
      kernels.run(pass, memory);
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (run == 1 || (run > 1 && seconds < best)) best = seconds;
    }
    return best;
  }
};

}  // namespace

/// One convolution node, as the strategies see it.
struct LabConvolutions::Layer {
  const Convolution& op;
  const NodeContext& context;
  const KernelPair& pair;  ///< what computes it without the lab
  StrategyShape shape;

  ConvProblem problem(ConvPass pass) const { return {.shape = *shape.shape, .pass = pass}; }
  /// Whether the node has such a pass.
  bool has(ConvPass pass) const {
    if (pass == sum_of(Pass::forward, op.transposed)) return true;
    return context.wants(pass == ConvPass::weight_gradient ? 1 : 0);
  }
  Pass pass_of(ConvPass sum) const {
    for (const Pass pass : {Pass::forward, Pass::backward_input}) {
      if (sum_of(pass, op.transposed) == sum) return pass;
    }
    return Pass::backward_weight;
  }
};

LabConvolutions::LabConvolutions(std::string wanted)
    : device_(cpu_conv_device()), wanted_(std::move(wanted)) {
  if (wanted_ == fastest) return;
  const ConvStrategy* const strategy = strategy_named(wanted_);
  if (strategy == nullptr) {
    std::string names = fastest;
    for (const auto& each : device_->strategies()) names += ", " + std::string(each->name());
    fail(ErrorKind::usage, "no convolution strategy '{}' on the CPU; there are {}", wanted_, names);
  }
  // Any strategy computes this one, if the build has it at all.
  const ConvProblem simple{.shape = {.height = 8,
                                     .width = 8,
                                     .kernel_height = 3,
                                     .kernel_width = 3,
                                     .pad_height = 1,
                                     .pad_width = 1}};
  const bool is_winograd_of_onednn = wanted_ == "onednn:winograd";
  if (const auto reason = strategy->refusal(simple); reason && !is_winograd_of_onednn) {
    fail(ErrorKind::environment, "{}: {}", wanted_, *reason);
  }
}

std::vector<std::string> LabConvolutions::versions() const {
  std::vector<std::string> versions;
  for (const Version& each : device_->facts().versions) {
    versions.push_back(each.of + " " + each.version);
  }
  return versions;
}

const ConvStrategy* LabConvolutions::strategy_named(const std::string& name) const {
  for (const auto& strategy : device_->strategies()) {
    if (strategy->name() == name) return strategy.get();
  }
  return nullptr;
}

KernelPair LabConvolutions::with_strategies(const Convolution& op, const NodeContext& context,
                                            KernelPair pair) {
  const Layer layer{op, context, pair, StrategyShape(ConvWindows(op, context))};
  Choices choices;
  for (const ConvPass pass : all_conv_passes) {
    if (layer.has(pass)) choices[static_cast<std::size_t>(pass)] = choose(layer, pass);
  }
  return composed(layer, choices);
}

LabConvolutions::PassChoice LabConvolutions::choose(const Layer& layer, ConvPass pass) {
  const auto refused = [&](const std::string& reason) {
    return PassChoice{nullptr, wanted_ == fastest ? "" : fmt::format("{}: {}", wanted_, reason)};
  };
  if (layer.context.input().dtype != DType::fp32) return refused("fp32 only");
  if (!layer.shape.shape) return refused(layer.shape.refusal);
  const ConvProblem problem = layer.problem(pass);
  if (const auto reason = refusal_of(problem.shape)) return refused(*reason);
  if (wanted_ == fastest) return {fastest_for(layer, pass), ""};
  const ConvStrategy* const strategy = strategy_named(wanted_);
  if (const auto reason = strategy->refusal(problem)) return refused(*reason);
  const std::int64_t bytes = strategy->scratch_bytes(problem);
  if (bytes > cpu::free_memory_bytes()) return refused(fmt::format("needs {} bytes", bytes));
  return {strategy, ""};
}

const ConvStrategy* LabConvolutions::fastest_for(const Layer& layer, ConvPass pass) {
  const ConvProblem problem = layer.problem(pass);
  for (const auto& [known, strategy] : known_) {
    if (known.shape == problem.shape && known.pass == problem.pass) return strategy;
  }
  TrialMemory trial(layer.context);
  const auto seconds_with = [&](const ConvStrategy* strategy) {
    Choices only;
    only[static_cast<std::size_t>(pass)].strategy = strategy;
    return trial.seconds_of(*make_node_kernels(composed(layer, only), layer.context),
                            layer.pass_of(pass));
  };
  const ConvStrategy* best = nullptr;
  double best_s = seconds_with(nullptr);
  for (const auto& strategy : device_->strategies()) {
    if (strategy->refusal(problem)) continue;
    if (strategy->scratch_bytes(problem) > cpu::free_memory_bytes()) continue;
    const double seconds = seconds_with(strategy.get());
    if (seconds >= best_s) continue;
    best = strategy.get();
    best_s = seconds;
  }
  known_.emplace_back(problem, best);
  return best;
}

KernelPair LabConvolutions::composed(const Layer& layer, const Choices& choices) const {
  const bool is_transposed = layer.op.transposed;
  KernelPair pair = layer.pair;
  std::array<std::shared_ptr<StrategyPass>, 3> passes;  // by ConvPass; null: the pair's
  for (const ConvPass pass : all_conv_passes) {
    const PassChoice& choice = choices[static_cast<std::size_t>(pass)];
    if (!layer.has(pass)) continue;
    std::string& name = layer.pass_of(pass) == Pass::forward          ? pair.forward_by
                        : layer.pass_of(pass) == Pass::backward_input ? pair.input_gradients_by
                                                                      : pair.weight_gradients_by;
    if (!choice.refusal.empty()) name += fmt::format(" ({})", choice.refusal);
    if (choice.strategy == nullptr) continue;
    const ConvProblem problem = layer.problem(pass);
    const auto made = std::make_shared<StrategyPass>(*choice.strategy, problem, layer.shape);
    passes[static_cast<std::size_t>(pass)] = made;
    name = made->name();
    pair.needs.own_bytes += choice.strategy->scratch_bytes(problem);
    pair.needs.scratch_bytes = std::max(pair.needs.scratch_bytes, layer.shape.padded_bytes());
  }
  const auto pass_for = [&](Pass pass) {
    return passes[static_cast<std::size_t>(sum_of(pass, is_transposed))];
  };
  const plain::ChannelBias bias(layer.context.output());
  const bool has_bias = layer.op.bias;
  if (const auto by = pass_for(Pass::forward)) {
    pair.forward = [=](const NodeMemory& m) {
      void *const x = m.inputs[0], *const y = m.outputs[0];
      by->run(is_transposed ? y : x, m.inputs[1], is_transposed ? x : y, m.scratch);
      if (has_bias) bias.add(static_cast<const float*>(m.inputs[2]), static_cast<float*>(y));
    };
  }
  const auto of_input = pass_for(Pass::backward_input), of_weight = pass_for(Pass::backward_weight);
  if (of_input == nullptr && of_weight == nullptr) return pair;
  pair.backward = [=, rest = layer.pair.backward](const NodeMemory& given) {
    NodeMemory m = given;
    void *const x = m.inputs[0], *const dy = m.output_gradients[0];
    void *&dx = m.input_gradients[0], *&dw = m.input_gradients[1];
    if (of_input != nullptr && dx != nullptr) {
      of_input->run(is_transposed ? dy : dx, m.inputs[1], is_transposed ? dx : dy, m.scratch);
      dx = nullptr;
    }
    if (of_weight != nullptr && dw != nullptr) {
      of_weight->run(is_transposed ? dy : x, dw, is_transposed ? x : dy, m.scratch);
      dw = nullptr;
      if (has_bias && m.input_gradients[2] != nullptr) {
        bias.gradient(static_cast<const float*>(dy), static_cast<float*>(m.input_gradients[2]));
        m.input_gradients[2] = nullptr;
      }
    }
    if (dx != nullptr || dw != nullptr) rest(m);
  };
  return pair;
}

}  // namespace strata::cpu_training
