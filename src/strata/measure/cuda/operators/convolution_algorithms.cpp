// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/operators/convolution_algorithms.cuh"

#include "strata/base/error.hpp"
#include "strata/measure/cuda/kernels/plain_convolution.cuh"
#include "strata/measure/cuda/node.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace strata::cuda::train {
namespace {

// More memory than this no pass may ask for, however fast it were.
constexpr std::int64_t most_scratch_bytes = std::int64_t{4} << 30;
// All layers share that of the lab's strategies: FFT of AlexNet's second convolution takes 0.4 GB
// at batch 256.
constexpr std::int64_t lab_scratch_bytes = std::int64_t{1} << 30;

/// `largest`, or a part of what is free where that is less.
std::int64_t scratch_now(std::int64_t largest, std::int64_t part_of_free) {
  std::size_t free = 0, total = 0;
  STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
  return std::min(largest, static_cast<std::int64_t>(free) / part_of_free);
}

/// The request as the lab knows convolutions: two axes, equal padding at both ends. Nothing where
/// it is none.
std::optional<ConvProblem> lab_problem(const ConvRequest& r) {
  if (!r.is_flat()) return std::nullopt;
  ConvProblem problem;
  problem.dtype = r.dtype;
  problem.pass = r.pass;
  ConvShape& shape = problem.shape;
  shape.batch = r.batch;
  shape.channels = r.channels;
  shape.height = r.in[1];
  shape.width = r.in[2];
  shape.filters = r.filters;
  shape.kernel_height = r.kernel[1];
  shape.kernel_width = r.kernel[2];
  shape.stride_height = r.stride[1];
  shape.stride_width = r.stride[2];
  shape.pad_height = r.pad_begin[1];
  shape.pad_width = r.pad_begin[2];
  shape.dilation_height = r.dilation[1];
  shape.dilation_width = r.dilation[2];
  shape.groups = r.groups;
  const bool is_same =
      !refusal_of(shape) && shape.output_height() == r.out[1] && shape.output_width() == r.out[2];
  return is_same ? std::optional(problem) : std::nullopt;
}

class IgnoredMarks final : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// A strategy of the lab. Its scratch memory is the lab's shared buffer where that is enough.
class LabAlgorithm final : public ConvAlgorithm {
 public:
  LabAlgorithm(const ConvStrategy& strategy, const ConvProblem& problem, std::int64_t own_bytes)
      : name_(strategy.name()), own_bytes_(own_bytes), prepared_(strategy.prepare(problem)) {}
  std::string name() const override { return name_; }
  std::int64_t own_bytes() const override { return own_bytes_; }
  bool run(const ConvTensors& tensors, void*) override {
    IgnoredMarks marks;
    prepared_->run(tensors, marks);
    return true;
  }

 private:
  std::string name_;
  std::int64_t own_bytes_;
  std::unique_ptr<PreparedConvolution> prepared_;
};

/// The defining sum, where no library computes a convolution.
class PlainAlgorithm final : public ConvAlgorithm {
 public:
  PlainAlgorithm(const ConvRequest& request, cudaStream_t stream)
      : request_(request), stream_(stream) {}
  std::string name() const override { return std::string(plain_kernel); }
  bool run(const ConvTensors& tensors, void*) override {
    plain_convolution(request_, tensors, stream_);
    return true;
  }

 private:
  ConvRequest request_;
  cudaStream_t stream_;
};

/// Tensors of one request, on which algorithms are timed. Their numbers are zeros.
class TimedTensors {
 public:
  TimedTensors(const ConvRequest& request, cudaStream_t stream)
      : stream_(stream),
        input_(zeros(request.input_elements(), request.dtype)),
        weights_(zeros(request.weight_elements(), request.dtype)),
        output_(zeros(request.output_elements(), request.dtype)) {}

  /// The median of three runs after one that loads the kernels, as cuDNN's own search takes it;
  /// infinite where the library refuses, and where one run shows that the algorithm takes twice
  /// `best_seconds` or more: some take hundreds of times as long.
  double seconds_of(ConvAlgorithm& algorithm, double best_seconds) {
    if (algorithm.scratch_bytes() > scratch_bytes_) {
      scratch_.reset();
      scratch_ = device_memory(algorithm.scratch_bytes());
      scratch_bytes_ = algorithm.scratch_bytes();
    }
    constexpr double loading_seconds = 0.05;
    if (seconds_of_run(algorithm) > 2 * best_seconds + loading_seconds) return INFINITY;
    std::array<double, 3> seconds{};
    for (double& sample : seconds) {
      sample = seconds_of_run(algorithm);
      if (sample >= 2 * best_seconds) return INFINITY;
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[1];
  }

 private:
  std::shared_ptr<void> zeros(std::int64_t elements, DType dtype) const {
    const std::int64_t bytes = elements * bytes_per_element(dtype);
    auto memory = device_memory(bytes);
    STRATA_CUDA_CALL(cudaMemsetAsync(memory.get(), 0, static_cast<std::size_t>(bytes), stream_));
    return memory;
  }
  double seconds_of_run(ConvAlgorithm& algorithm) const {
    const Event start, end;
    start.record(stream_);
    const bool works = algorithm.run({input_.get(), weights_.get(), output_.get()}, scratch_.get());
    end.record(stream_);
    const double seconds = end.seconds_since(start);
    return works ? seconds : INFINITY;
  }

  cudaStream_t stream_;
  std::shared_ptr<void> input_, weights_, output_, scratch_;
  std::int64_t scratch_bytes_ = -1;
};

}  // namespace

ConvolutionAlgorithms::ConvolutionAlgorithms(const TrainingContext& context) : context_(context) {
  const std::string& asked = context.choices.convolution;
  if (asked.empty()) return;
  add_direct(strategies_, context.convolution);
  add_unroll(strategies_, context.convolution);
  add_fft(strategies_, context.convolution);
  add_winograd(strategies_, context.convolution);
  add_cudnn(strategies_, context.convolution);
  std::string names{fastest_convolution};
  for (const auto& strategy : strategies_) {
    if (strategy->name() == asked) return;
    names += fmt::format(", {}", strategy->name());
  }
  if (asked != fastest_convolution)
    fail(ErrorKind::usage, "there is no convolution strategy '{}'; there are {}", asked, names);
}

std::int64_t ConvolutionAlgorithms::held_bytes() const {
  std::int64_t bytes = context_.convolution->shared_scratch_bytes;
  for (const auto& [request, algorithm] : known_) bytes += algorithm->own_bytes();
  return bytes;
}

ConvolutionAlgorithms::Found ConvolutionAlgorithms::algorithm(const ConvRequest& request) {
  if (const auto known = known_.find(request); known != known_.end()) return known->second;
  Found found = choose(request);
  if (const auto* made = std::get_if<std::shared_ptr<ConvAlgorithm>>(&found))
    known_[request] = *made;
  return found;
}

ConvolutionAlgorithms::Found ConvolutionAlgorithms::choose(const ConvRequest& request) {
  const std::string& asked = context_.choices.convolution;
  if (!asked.empty() && asked != fastest_convolution) return named_strategy(request);
  Candidates candidates = cudnn_convolutions(context_, request, scratch_now(most_scratch_bytes, 4));
  if (asked == fastest_convolution) add_strategies(candidates, request);
  if (auto best = fastest(request, std::move(candidates))) return best;
  return std::make_shared<PlainAlgorithm>(request, context_.stream());
}

// The lab's buffer is taken with the first strategy that is made ready.
std::unique_ptr<ConvAlgorithm> ConvolutionAlgorithms::prepared(const ConvStrategy& strategy,
                                                               const ConvProblem& problem) {
  ConvContext& lab = *context_.convolution;
  if (!lab.shared_scratch) {
    const std::int64_t bytes = scratch_now(lab_scratch_bytes, 16);
    lab.shared_scratch = device_memory(bytes);
    lab.shared_scratch_bytes = bytes;
  }
  const std::int64_t needed = strategy.scratch_bytes(problem);
  const bool shares = !strategy.is_vendor() && needed <= lab.shared_scratch_bytes;
  return std::make_unique<LabAlgorithm>(strategy, problem, shares ? 0 : needed);
}

ConvolutionAlgorithms::Found ConvolutionAlgorithms::named_strategy(const ConvRequest& request) {
  const std::string& asked = context_.choices.convolution;
  const auto strategy = std::find_if(strategies_.begin(), strategies_.end(),
                                     [&](const auto& one) { return one->name() == asked; });
  const auto problem = lab_problem(request);
  if (!problem)
    return fmt::format("{} computes only two axes with equal padding at both ends", asked);
  if (const auto refusal = (*strategy)->refusal(*problem))
    return fmt::format("{}: {}", asked, *refusal);
  const std::int64_t needed = (*strategy)->scratch_bytes(*problem);
  if (needed > scratch_now(most_scratch_bytes, 4))
    return fmt::format("{} needs {} bytes of scratch memory", asked, needed);
  return std::shared_ptr<ConvAlgorithm>(prepared(**strategy, *problem));
}

void ConvolutionAlgorithms::add_strategies(Candidates& candidates, const ConvRequest& request) {
  const auto problem = lab_problem(request);
  if (!problem) return;
  const std::int64_t most = scratch_now(lab_scratch_bytes, 16);
  for (const auto& strategy : strategies_) {
    if (strategy->refusal(*problem) || strategy->scratch_bytes(*problem) > most) continue;
    candidates.push_back(prepared(*strategy, *problem));
  }
}

std::shared_ptr<ConvAlgorithm> ConvolutionAlgorithms::fastest(const ConvRequest& request,
                                                              Candidates candidates) {
  if (candidates.empty()) return nullptr;
  TimedTensors tensors(request, context_.stream());
  std::shared_ptr<ConvAlgorithm> best;
  double best_seconds = INFINITY;
  for (auto& candidate : candidates) {
    const double seconds = tensors.seconds_of(*candidate, best_seconds);
    if (seconds >= best_seconds) continue;
    best_seconds = seconds;
    best = std::move(candidate);
  }
  return best;
}

}  // namespace strata::cuda::train
