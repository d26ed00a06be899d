// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/training/convolutions.cuh"

#include "strata/base/error.hpp"
#include "strata/measure/cuda/kernels.cuh"
#include "strata/measure/cuda/training/own_convolutions.cuh"

#include <algorithm>
#include <cmath>

namespace strata::cuda::train {
namespace {

// More scratch memory than this no pass may ask for, however fast it were.
constexpr std::int64_t most_scratch_bytes = std::int64_t{4} << 30;
constexpr std::int64_t lab_scratch_bytes = std::int64_t{256} << 20;
constexpr int timed_runs = 2;  // beside the one that decides whether it is worth them

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
  ConvRunners runners(const ConvRequest& request, std::int64_t) override {
    ConvRunners list;
    if (request.is_depthwise())
      list.push_back(std::make_unique<OwnRunner>(request, true, context_->stream.get()));
    list.push_back(std::make_unique<OwnRunner>(request, false, context_->stream.get()));
    return list;
  }

 private:
  std::shared_ptr<ConvContext> context_;
};

/// The request as the lab knows convolutions; nothing where it has no such ones.
std::optional<ConvProblem> lab_problem(const ConvRequest& r) {
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
    add_implicit(strategies_, context);
    add_fft(strategies_, context);
    add_winograd(strategies_, context);
  }
  ConvRunners runners(const ConvRequest& request, std::int64_t most_scratch) override {
    ConvRunners list;
    const auto problem = lab_problem(request);
    if (!problem || problem->dtype != DType::fp32) return list;
    if (!context_->shared_scratch) {
      context_->shared_scratch = device_memory(lab_scratch_bytes);
      context_->shared_scratch_bytes = lab_scratch_bytes;
    }
    const std::int64_t most = std::min(most_scratch, lab_scratch_bytes);
    for (const auto& strategy : strategies_) {
      if (strategy->refusal(*problem) || strategy->scratch_bytes(*problem) > most) continue;
      list.push_back(std::make_unique<LabRunner>(*strategy, *problem));
    }
    return list;
  }

 private:
  std::shared_ptr<ConvContext> context_;
  StrategyList strategies_;
};

/// Random tensors for one request, and some numbers of what the pass should make of them.
class ConvTrial {
 public:
  ConvTrial(const ConvRequest& request, cudaStream_t stream)
      : request_(request),
        stream_(stream),
        input_(filled(request.input_elements(), 1)),
        weights_(filled(request.weight_elements(), 2)),
        output_(filled(request.output_elements(), 3)),
        found_(device_memory(reference_samples * 8)),
        references_(reference_samples) {
    sample_reference(request, input_.get(), weights_.get(), output_.get(), found(), stream);
    fetch(references_);
  }

  ConvTensors tensors() const { return {input_.get(), weights_.get(), output_.get()}; }

  /// Of the result as the last run left it: relative, L2.
  double error() const {
    void* const result = request_.pass == RequestPass::forward          ? output_.get()
                         : request_.pass == RequestPass::input_gradient ? input_.get()
                                                                        : weights_.get();
    sample_result(request_, result, found(), stream_);
    std::vector<double> numbers(reference_samples);
    fetch(numbers);
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      difference += (numbers[i] - references_[i]) * (numbers[i] - references_[i]);
      size += references_[i] * references_[i];
    }
    const double error = std::sqrt(difference / (size + 1e-30));
    return std::isfinite(error) ? error : INFINITY;
  }

  /// What the data type itself brings, with room for sums in any order.
  double tolerance() const {
    const double rounding = 6e-8 * (4 + std::sqrt(static_cast<double>(request_.terms())));
    switch (request_.dtype) {
      case DType::fp64: return 1e-10;
      case DType::fp32: return 2e-5 + rounding;
      case DType::tf32: return 3e-3 + rounding;
      case DType::fp16: return 5e-3 + rounding;
      default: return 3e-2 + rounding;
    }
  }

 private:
  std::shared_ptr<void> filled(std::int64_t elements, std::uint32_t seed) const {
    auto memory = device_memory(elements * bytes_per_element(request_.dtype));
    fill_uniform(memory.get(), elements, request_.dtype, seed, stream_);
    return memory;
  }
  double* found() const { return static_cast<double*>(found_.get()); }
  void fetch(std::vector<double>& numbers) const {
    STRATA_CUDA_CALL(cudaMemcpyAsync(numbers.data(), found_.get(), numbers.size() * 8,
                                     cudaMemcpyDeviceToHost, stream_));
    STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
  }

  ConvRequest request_;
  cudaStream_t stream_;
  std::shared_ptr<void> input_, weights_, output_, found_;
  std::vector<double> references_;
};

double seconds_of(ConvRunner& runner, const ConvTensors& tensors, void* scratch,
                  cudaStream_t stream) {
  const Event start, end;
  start.record(stream);
  const bool works = runner.run(tensors, scratch);
  end.record(stream);
  const double seconds = end.seconds_since(start);
  return works ? seconds : INFINITY;
}

std::int64_t most_scratch_now() {
  std::size_t free = 0, total = 0;
  STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
  return std::min(most_scratch_bytes, static_cast<std::int64_t>(free / 4));
}

/// Scratch memory that grows with who needs it.
class TrialScratch {
 public:
  void* of(const ConvRunner& runner) {
    if (runner.scratch_bytes() > bytes_) {
      memory_.reset();
      bytes_ = runner.scratch_bytes();
      memory_ = device_memory(bytes_);
    }
    return memory_.get();
  }

 private:
  std::int64_t bytes_ = -1;
  std::shared_ptr<void> memory_;
};

/// The shortest of a few runs; infinite for who refuses or is clearly behind. The first run also
/// loads the kernel, which takes longer than most convolutions: it only tells who is hopeless.
double shortest_of_few(ConvRunner& runner, const ConvTensors& tensors, void* scratch,
                       double best_seconds, cudaStream_t stream) {
  constexpr double loading_s = 0.02, hopeless = 3, behind = 1.3, noise_s = 1e-5;
  const double first = seconds_of(runner, tensors, scratch, stream);
  if (std::isinf(first) || first > loading_s + hopeless * best_seconds) return INFINITY;
  double seconds = seconds_of(runner, tensors, scratch, stream);
  if (seconds > behind * best_seconds + noise_s) return INFINITY;
  for (int i = 0; i < timed_runs; ++i)
    seconds = std::min(seconds, seconds_of(runner, tensors, scratch, stream));
  return seconds;
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

std::shared_ptr<ConvRunner> Convolutions::fastest(const ConvRequest& request) {
  auto& known = known_[request];
  if (!known) known = forced_ == proposed_convolution ? first_proposal(request) : choose(request);
  return known;
}

// Who is fastest so far must also be right.
std::shared_ptr<ConvRunner> Convolutions::choose(const ConvRequest& request) {
  const cudaStream_t stream = context_->stream.get();
  const ConvTrial trial(request, stream);
  const std::int64_t most_scratch = most_scratch_now();
  // Who asks for one by name gets it with the digits that it has, unless it is plainly wrong.
  const double tolerance = forced_.empty() ? trial.tolerance() : 0.1;
  std::shared_ptr<ConvRunner> best;
  double best_seconds = INFINITY;
  TrialScratch scratch;
  for (const auto& source : sources_) {
    for (auto& runner : source->runners(request, most_scratch)) {
      if (!forced_.empty() && runner->name() != forced_) continue;
      if (best && runner->name() == "plain") continue;  // for what nobody else can
      const double seconds =
          shortest_of_few(*runner, trial.tensors(), scratch.of(*runner), best_seconds, stream);
      if (seconds >= best_seconds || trial.error() > tolerance) continue;
      best_seconds = seconds;
      best = std::move(runner);
    }
  }
  return best;
}

std::shared_ptr<ConvRunner> Convolutions::first_proposal(const ConvRequest& request) {
  const cudaStream_t stream = context_->stream.get();
  const ConvTrial trial(request, stream);
  TrialScratch scratch;
  for (const auto& source : sources_) {
    for (auto& runner : source->proposals(request, most_scratch_now())) {
      const double seconds = seconds_of(*runner, trial.tensors(), scratch.of(*runner), stream);
      if (!std::isinf(seconds) && trial.error() <= trial.tolerance()) return std::move(runner);
    }
  }
  return nullptr;
}

std::shared_ptr<Convolutions> make_convolutions(const std::shared_ptr<ConvContext>& context,
                                                const std::shared_ptr<Products>& products,
                                                const DeviceChoices& choices,
                                                std::vector<std::string>& versions) {
  std::vector<std::unique_ptr<ConvSource>> sources;
  if (auto cudnn = make_cudnn_source(context, versions)) sources.push_back(std::move(cudnn));
  sources.push_back(make_channels_last_source(context));
  if (products) sources.push_back(make_product_source(context, products));
  sources.push_back(make_lab_source(context));
  sources.push_back(make_own_source(context));
  return std::make_shared<Convolutions>(context, choices.convolution, std::move(sources));
}

}  // namespace strata::cuda::train
