// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/convolutions/convolutions.cuh"

#include "strata/measure/cuda/convolutions/convolution_trial.cuh"
#include "strata/measure/cuda/convolutions/own_convolutions.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

namespace strata::cuda::train {

std::optional<ConvProblem> flat_problem(const ConvRequest& r) {
  if (!r.is_flat()) return std::nullopt;
  ConvProblem problem;
  problem.dtype = r.dtype;
  problem.pass = static_cast<ConvPass>(r.pass);
  ConvShape& shape = problem.shape;
  shape.batch = r.batch;
  shape.channels = r.channels;
  shape.filters = r.filters;
  shape.groups = r.groups;
  shape.height = r.in[1];
  shape.width = r.in[2];
  shape.kernel_height = r.kernel[1];
  shape.kernel_width = r.kernel[2];
  shape.stride_height = r.stride[1];
  shape.stride_width = r.stride[2];
  shape.pad_height = r.pad_begin[1];
  shape.pad_width = r.pad_begin[2];
  shape.dilation_height = r.dilation[1];
  shape.dilation_width = r.dilation[2];
  // With other zeros at the end the windows are the same as long as there are as many of them.
  if (refusal_of(shape) || shape.output_height() != r.out[1] || shape.output_width() != r.out[2])
    return std::nullopt;
  return problem;
}

namespace {

// More scratch memory than this no pass may ask for, however fast it were.
constexpr std::int64_t most_scratch_bytes = std::int64_t{4} << 30;
// All layers share that of the lab's strategies: FFT of AlexNet's second convolution takes 0.4 GB
// at batch 256.
constexpr std::int64_t most_lab_scratch_bytes = std::int64_t{1} << 30;

/// `largest`, or a part of what is free where that is less.
std::int64_t scratch_now(std::int64_t largest, std::int64_t part_of_free) {
  std::size_t free = 0, total = 0;
  STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
  return std::min(largest, static_cast<std::int64_t>(free) / part_of_free);
}

/// The depthwise kernels and the defining sum.
class OwnRunner final : public ConvRunner {
 public:
  OwnRunner(const ConvRequest& request, bool is_depthwise, cudaStream_t stream)
      : request_(request), is_depthwise_(is_depthwise), stream_(stream) {}
  std::string name() const override { return is_depthwise_ ? "depthwise" : "plain"; }
  std::int64_t scratch_bytes() const override {
    return is_depthwise_ ? depthwise_scratch_bytes(request_) : 0;
  }
  bool run(const ConvTensors& tensors, void* scratch) override {
    void* const result = request_.pass == RequestPass::forward          ? tensors.output
                         : request_.pass == RequestPass::input_gradient ? tensors.input
                                                                        : tensors.weights;
    if (is_depthwise_) {
      depthwise_convolution(request_, tensors.input, tensors.weights, tensors.output, result,
                            scratch, stream_);
    } else {
      plain_convolution(request_, tensors.input, tensors.weights, tensors.output, result, stream_);
    }
    return true;
  }

 private:
  ConvRequest request_;
  bool is_depthwise_;
  cudaStream_t stream_;
};

class OwnSource final : public ConvSource {
 public:
  explicit OwnSource(std::shared_ptr<ConvContext> context) : context_(std::move(context)) {}
  ConvRunners runners(const ConvRequest& request, const ConvLimits& limits) override {
    ConvRunners list;
    for (const bool is_depthwise : {true, false}) {
      auto runner = std::make_unique<OwnRunner>(request, is_depthwise, context_->stream.get());
      if ((request.is_depthwise() || !is_depthwise) && limits.admits(runner->name()))
        list.push_back(std::move(runner));
    }
    return list;
  }

 private:
  std::shared_ptr<ConvContext> context_;
};

class IgnoredMarks final : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// A strategy of the lab. Its scratch memory is shared by all of them, beside the engine's.
class LabRunner final : public ConvRunner {
 public:
  LabRunner(const ConvStrategy& strategy, const ConvProblem& problem)
      : name_(strategy.name()), prepared_(strategy.prepare(problem)) {}
  std::string name() const override { return name_; }
  std::int64_t scratch_bytes() const override { return 0; }
  bool run(const ConvTensors& tensors, void*) override {
    IgnoredMarks marks;
    prepared_->run(tensors, marks);
    return true;
  }

 private:
  std::string name_;
  std::unique_ptr<PreparedConvolution> prepared_;
};

class LabSource final : public ConvSource {
 public:
  explicit LabSource(const std::shared_ptr<ConvContext>& context) : context_(context) {
    add_direct(strategies_, context);
    add_unroll(strategies_, context);
    add_fft(strategies_, context);
    add_winograd(strategies_, context);
  }
  ConvRunners runners(const ConvRequest& request, const ConvLimits& limits) override {
    ConvRunners list;
    const auto problem = flat_problem(request);
    if (!problem || problem->dtype != DType::fp32) return list;
    if (!context_->shared_scratch) {
      context_->shared_scratch_bytes = scratch_now(most_lab_scratch_bytes, 16);
      context_->shared_scratch = device_memory(context_->shared_scratch_bytes);
    }
    const std::int64_t most = std::min(limits.most_scratch, context_->shared_scratch_bytes);
    for (const auto& strategy : strategies_) {
      if (!limits.admits(strategy->name())) continue;
      if (strategy->refusal(*problem) || strategy->scratch_bytes(*problem) > most) continue;
      list.push_back(std::make_unique<LabRunner>(*strategy, *problem));
    }
    return list;
  }

 private:
  std::shared_ptr<ConvContext> context_;
  StrategyList strategies_;
};

std::int64_t most_scratch_now() { return scratch_now(most_scratch_bytes, 4); }

/// "forward fp32"
std::string kind_of(const ConvRequest& request) {
  constexpr std::array<std::string_view, 3> passes = {"forward", "input_gradient",
                                                      "weight_gradient"};
  return fmt::format("{} {}", passes[static_cast<std::size_t>(request.pass)],
                     name_of(request.dtype));
}

std::string text_of(const std::array<int, 3>& extents) {
  return fmt::format("{}x{}x{}", extents[0], extents[1], extents[2]);
}

}  // namespace

bool ConvRequest::is_depthwise() const {
  return is_flat() && groups == channels && filters == channels && kernel[1] == kernel[2] &&
         (kernel[1] == 3 || kernel[1] == 5 || kernel[1] == 7) && stride[1] == stride[2] &&
         stride[1] <= 2 && dilation[1] == 1 && dilation[2] == 1;
}

std::unique_ptr<ConvSource> make_own_source(const std::shared_ptr<ConvContext>& context) {
  return std::make_unique<OwnSource>(context);
}

std::unique_ptr<ConvSource> make_lab_source(const std::shared_ptr<ConvContext>& context) {
  return std::make_unique<LabSource>(context);
}

std::unique_ptr<ConvRunner> taken(ConvRunners runners, const std::string& recipe) {
  for (auto& runner : runners) {
    if (runner->recipe() == recipe) return std::move(runner);
  }
  return nullptr;
}

std::shared_ptr<ConvRunner> Convolutions::fastest(const ConvRequest& request) {
  auto& known = known_[request];
  if (!known) known = forced_ == proposed_convolution ? first_proposal(request) : choose(request);
  return known;
}

// With less memory another may be the fastest; little more or less makes no difference.
std::string Convolutions::question(const ConvRequest& r, std::int64_t most_scratch) const {
  return fmt::format(
      "convolution {} batch={} channels={} filters={} groups={} in={} out={} kernel={} "
      "stride={} dilation={} pad={}/{} scratch=2^{} by={}",
      kind_of(r), r.batch, r.channels, r.filters, r.groups, text_of(r.in), text_of(r.out),
      text_of(r.kernel), text_of(r.stride), text_of(r.dilation), text_of(r.pad_begin),
      text_of(r.pad_end), std::bit_width(static_cast<std::uint64_t>(most_scratch)) - 1,
      forced_.empty() ? "any" : forced_);
}

// It must still be there, right, and about as fast as it was.
std::shared_ptr<ConvRunner> Convolutions::remembered(const ConvRequest& request,
                                                     const ConvTrial& trial,
                                                     std::int64_t most_scratch) {
  constexpr double about = 1.5, noise_s = 2e-5;
  const auto choice = choices_->find(question(request, most_scratch));
  if (!choice) return nullptr;
  for (const auto& source : sources_) {
    std::unique_ptr<ConvRunner> runner = source->again(request, choice->choice, most_scratch);
    if (!runner) continue;
    TrialScratch scratch;
    void* const room = scratch.of(*runner);
    if (std::isinf(trial.seconds_of(*runner, room)) || trial.error() > tolerance_of(trial))
      return nullptr;
    const double seconds =
        std::min(trial.seconds_of(*runner, room), trial.seconds_of(*runner, room));
    if (seconds > about * choice->seconds + noise_s) return nullptr;
    choices_->use(*choice);
    return runner;
  }
  return nullptr;
}

// Who asks for one by name gets it with the digits that it has, unless it is plainly wrong.
double Convolutions::tolerance_of(const ConvTrial& trial) const {
  return forced_.empty() ? trial.tolerance() : 0.1;
}

// Who is fastest so far must also be right.
Convolutions::Fastest Convolutions::fastest_of(const ConvRequest& request, const ConvTrial& trial,
                                               const ConvLimits& limits) {
  Fastest best;
  TrialScratch scratch;
  for (const auto& source : sources_) {
    const auto begin = std::chrono::steady_clock::now();
    ConvRunners runners = source->runners(request, limits);
    double preparing_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (auto& runner : runners) {
      if (best.runner && runner->name() == "plain") continue;  // for what nobody else can
      TriedConvolution& one =
          tried_.emplace_back(try_convolution(*runner, trial, scratch.of(*runner), best.seconds));
      one.preparing_s = std::exchange(preparing_s, 0);
      if (one.seconds >= best.seconds || trial.error() > tolerance_of(trial)) continue;
      best = {std::move(runner), one.seconds};
    }
  }
  return best;
}

// Of long ones all are tried with a small batch first, which ranks them well enough to see who has
// no chance: with the whole batch each of those would keep people waiting.
std::optional<Convolutions::Names> Convolutions::promising(const ConvRequest& request) {
  constexpr double long_flop = 1.5e11;  // some milliseconds in fp32
  constexpr std::int64_t least_batch = 16, least_gain = 4;
  constexpr TrialPatience patient{.behind = 2, .steady_s = 0};
  ConvRequest small = request;
  const auto flop = [](const ConvRequest& r) {
    return 2.0 * static_cast<double>(r.result_elements()) * static_cast<double>(r.terms());
  };
  while (small.batch / 2 >= least_batch && flop(small) > long_flop) small.batch /= 2;
  if (!forced_.empty() || request.batch / small.batch < least_gain) return std::nullopt;
  const ConvTrial trial(small, context_->stream.get());
  TrialScratch scratch;
  double best_seconds = INFINITY;
  std::vector<TriedConvolution> all;
  for (const auto& source : sources_) {
    for (auto& runner : source->runners(small, hopeful(small, most_scratch_now()))) {
      if (runner->name() == "plain") continue;
      const TriedConvolution& one = all.emplace_back(
          try_convolution(*runner, trial, scratch.of(*runner), best_seconds, patient));
      if (one.seconds < best_seconds && trial.error() <= trial.tolerance())
        best_seconds = one.seconds;
    }
  }
  learn(request, all, best_seconds);
  Names names;
  for (const TriedConvolution& one : all) {
    if (one.seconds <= patient.behind * best_seconds) names.insert(one.name);
  }
  tried_.insert(tried_.end(), all.begin(), all.end());
  return names;
}

void Convolutions::learn(const ConvRequest& request, std::span<const TriedConvolution> tried,
                         double best_seconds) {
  if (!std::isfinite(best_seconds)) return;
  WayExperience::Ratios ratios;  // one name may have stood for several settings
  for (const TriedConvolution& one : tried) {
    const double ratio = seconds_or_more(one) / best_seconds;
    if (!std::isfinite(ratio)) continue;
    double& least = ratios.try_emplace(one.name, ratio).first->second;
    least = std::min(least, ratio);
  }
  experience_.learn(kind_of(request), ratios);
}

ConvLimits Convolutions::hopeful(const ConvRequest& request, std::int64_t most_scratch) const {
  return {most_scratch, [this, kind = kind_of(request)](std::string_view name) {
            return !experience_.is_hopeless(kind, name);
          }};
}

std::shared_ptr<ConvRunner> Convolutions::choose(const ConvRequest& request) {
  const ConvTrial trial(request, context_->stream.get());
  const std::int64_t most_scratch = most_scratch_now();
  if (auto runner = remembered(request, trial, most_scratch)) return runner;
  tried_.clear();
  Fastest best;
  if (!forced_.empty()) {
    best = fastest_of(request, trial, only_named(most_scratch, forced_));
  } else if (const std::optional<Names> names = promising(request)) {
    best = fastest_of(request, trial,
                      {most_scratch, [&](std::string_view name) { return names->contains(name); }});
  } else {
    best = fastest_of(request, trial, hopeful(request, most_scratch));
    learn(request, tried_, best.seconds);
  }
  if (!best.runner && forced_.empty()) best = fastest_of(request, trial, {most_scratch});
  if (best.runner)
    choices_->put(question(request, most_scratch), best.runner->recipe(), best.seconds);
  return best.runner;
}

std::shared_ptr<ConvRunner> Convolutions::first_proposal(const ConvRequest& request) {
  const ConvTrial trial(request, context_->stream.get());
  TrialScratch scratch;
  for (const auto& source : sources_) {
    for (auto& runner : source->proposals(request, {most_scratch_now()})) {
      const double seconds = trial.seconds_of(*runner, scratch.of(*runner));
      if (!std::isinf(seconds) && trial.error() <= trial.tolerance()) return std::move(runner);
    }
  }
  return nullptr;
}

std::shared_ptr<Convolutions> make_convolutions(const std::shared_ptr<ConvContext>& context,
                                                const std::shared_ptr<Products>& products,
                                                std::unique_ptr<ConvSource> cudnn,
                                                const std::string& forced,
                                                const std::shared_ptr<RememberedChoices>& choices) {
  std::vector<std::unique_ptr<ConvSource>> sources;
  if (cudnn) sources.push_back(std::move(cudnn));
  sources.push_back(make_channels_last_source(context));
  if (products) sources.push_back(make_product_source(context, products));
  sources.push_back(make_lab_source(context));
  sources.push_back(make_own_source(context));
  return std::make_shared<Convolutions>(context, forced, std::move(sources), choices);
}

}  // namespace strata::cuda::train
