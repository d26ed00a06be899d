// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/products/convolution_choice.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Some tens of milliseconds on one core: enough to tell strategies apart.
constexpr std::int64_t trial_flop = 1'000'000'000;
constexpr int trial_runs = 2;
/// One that takes so many times longer than the best so far is not run again.
constexpr double hopeless = 2;

class NoRoleMarks : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

double seconds_of(PreparedConvolution& prepared, const ConvTensors& tensors) {
  NoRoleMarks marks;
  const auto start = std::chrono::steady_clock::now();
  prepared.run(tensors, marks);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ConvProblem trial_of(ConvProblem problem) {
  ConvShape one = problem.shape;
  one.batch = 1;
  const std::int64_t per_sample = std::max<std::int64_t>(1, direct_flop(one));
  constexpr std::int64_t least = 4;  // so that threads have something to share
  problem.shape.batch = std::min(problem.shape.batch, std::max(least, trial_flop / per_sample));
  return problem;
}

std::string key_of(const ConvProblem& problem) {
  const ConvShape& s = problem.shape;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", name_of(problem.pass), s.batch,
                     s.channels, s.height, s.width, s.filters, s.kernel_height, s.kernel_width,
                     s.stride_height, s.stride_width, s.pad_height, s.pad_width, s.dilation_height,
                     s.dilation_width, s.groups);
}

/// By name, not by address: devices come and go.
struct Known {
  std::mutex mutex;
  std::map<std::string, std::string> fastest;
};
Known& known() {
  static Known all;
  return all;
}

const ConvStrategy* strategy_named(const ConvDevice& device, std::string_view name) {
  for (const auto& strategy : device.strategies()) {
    if (strategy->name() == name) return strategy.get();
  }
  return nullptr;
}

std::string wanted_strategy(const DeviceChoices& choices, const ConvDevice& device) {
  if (!choices.engine.empty() && choices.engine != "strata" && choices.engine != "onednn") {
    fail(ErrorKind::usage, "engine '{}': strata and onednn are those of the CPU", choices.engine);
  }
  std::string name = !choices.convolution.empty() ? choices.convolution
                     : choices.engine == "onednn" ? "onednn"
                                                  : "";
  if (name.empty()) return name;
  const ConvStrategy* const strategy = strategy_named(device, name);
  if (strategy == nullptr) {
    std::string names;
    for (const auto& each : device.strategies()) {
      names += (names.empty() ? "" : ", ") + std::string(each->name());
    }
    fail(ErrorKind::usage, "no convolution strategy '{}' on the CPU; there are {}", name, names);
  }
  // Any strategy computes this one, if the build has it at all.
  const ConvProblem simple{.shape = {.height = 8,
                                     .width = 8,
                                     .kernel_height = 3,
                                     .kernel_width = 3,
                                     .pad_height = 1,
                                     .pad_width = 1}};
  const bool is_winograd_of_onednn = name == "onednn:winograd";
  if (const auto reason = strategy->refusal(simple); reason && !is_winograd_of_onednn) {
    fail(ErrorKind::environment, "{}: {}", name, *reason);
  }
  return name;
}

}  // namespace

ConvolutionChoice::ConvolutionChoice(const DeviceChoices& choices)
    : device_(cpu_conv_device()),
      wanted_(wanted_strategy(choices, *device_)),
      most_kept_bytes_(device_->free_bytes() / 4) {}

ConvolutionChoice::Chosen ConvolutionChoice::choose(const ConvProblem& problem) {
  if (refusal_of(problem.shape)) return {};
  const ConvStrategy* strategy = nullptr;
  std::string note;
  if (!wanted_.empty()) {
    strategy = strategy_named(*device_, wanted_);
    if (const auto reason = strategy->refusal(problem)) {
      note = fmt::format(" ({}: {})", wanted_, *reason);
      strategy = nullptr;
    }
  }
  if (strategy == nullptr) strategy = fastest(problem);
  if (strategy == nullptr) return {};
  std::string name(strategy->name());
  if (strategy->is_vendor()) {
    for (const KernelFacts& kernel : strategy->kernels(problem)) name += " " + kernel.name;
  }
  return {strategy, name + note};
}

const ConvStrategy* ConvolutionChoice::fastest(const ConvProblem& problem) const {
  const ConvProblem trial = trial_of(problem);
  const std::string key = key_of(trial);
  {
    const std::lock_guard lock(known().mutex);
    const auto found = known().fastest.find(key);
    if (found != known().fastest.end()) return strategy_named(*device_, found->second);
  }
  const ConvShape& s = trial.shape;
  std::vector<float> input(static_cast<std::size_t>(s.input_elements()), 0.5F);
  std::vector<float> weights(static_cast<std::size_t>(s.weight_elements()), 0.25F);
  std::vector<float> output(static_cast<std::size_t>(s.output_elements()), 0.125F);
  const ConvTensors tensors{input.data(), weights.data(), output.data()};
  const ConvStrategy* best = nullptr;
  double best_s = 0;
  for (const auto& strategy : device_->strategies()) {
    if (strategy->is_vendor() || strategy->refusal(problem) || strategy->refusal(trial)) continue;
    if (strategy->scratch_bytes(problem) > most_kept_bytes_) continue;
    const std::unique_ptr<PreparedConvolution> prepared = strategy->prepare(trial);
    const double first_s = seconds_of(*prepared, tensors);  // pays for pages and caches
    if (best != nullptr && first_s > hopeless * best_s) continue;
    double seconds = first_s;
    for (int i = 0; i < trial_runs; ++i)
      seconds = std::min(seconds, seconds_of(*prepared, tensors));
    if (best != nullptr && seconds >= best_s) continue;
    best = strategy.get();
    best_s = seconds;
  }
  if (best != nullptr) {
    const std::lock_guard lock(known().mutex);
    known().fastest.emplace(key, best->name());
  }
  return best;
}

void ConvolutionChoice::run(const Chosen& chosen, const ConvProblem& problem,
                            const ConvTensors& tensors) {
  const auto is_it = [&](const Kept& kept) {
    return kept.strategy == chosen.strategy && kept.problem.pass == problem.pass &&
           kept.problem.dtype == problem.dtype && kept.problem.shape == problem.shape;
  };
  auto found = std::find_if(kept_.begin(), kept_.end(), is_it);
  if (found == kept_.end()) {
    const std::int64_t bytes = chosen.strategy->scratch_bytes(problem);
    while (!kept_.empty() && kept_bytes_ + bytes > most_kept_bytes_) {
      kept_bytes_ -= kept_.back().bytes;
      kept_.pop_back();
    }
    kept_.push_front({chosen.strategy, problem, bytes, chosen.strategy->prepare(problem)});
    kept_bytes_ += bytes;
  } else {
    kept_.splice(kept_.begin(), kept_, found);
  }
  NoRoleMarks marks;
  kept_.front().prepared->run(tensors, marks);
}

}  // namespace strata::cpu_training
