// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/convolutions/convolution_trial.cuh"

#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "strata/measure/cuda/convolutions/own_convolutions.cuh"

#include <algorithm>
#include <cmath>

namespace strata::cuda::train {
namespace {

constexpr double loading_s = 0.02;  // what a kernel's first run may take longer

}  // namespace

ConvTrial::ConvTrial(const ConvRequest& request, cudaStream_t stream)
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

double ConvTrial::error() const {
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

double ConvTrial::tolerance() const {
  const double rounding = 6e-8 * (4 + std::sqrt(static_cast<double>(request_.terms())));
  switch (request_.dtype) {
    case DType::fp64: return 1e-10;
    case DType::fp32: return 2e-5 + rounding;
    case DType::tf32: return 3e-3 + rounding;
    case DType::fp16: return 5e-3 + rounding;
    default: return 3e-2 + rounding;
  }
}

std::shared_ptr<void> ConvTrial::filled(std::int64_t elements, std::uint32_t seed) const {
  auto memory = device_memory(elements * bytes_per_element(request_.dtype));
  fill_uniform(memory.get(), elements, request_.dtype, seed, stream_);
  return memory;
}

void ConvTrial::fetch(std::vector<double>& numbers) const {
  STRATA_CUDA_CALL(cudaMemcpyAsync(numbers.data(), found_.get(), numbers.size() * 8,
                                   cudaMemcpyDeviceToHost, stream_));
  STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
}

double ConvTrial::seconds_of(ConvRunner& runner, void* scratch) const {
  const Event start, end;
  start.record(stream_);
  const bool works = runner.run(tensors(), scratch);
  end.record(stream_);
  const double seconds = end.seconds_since(start);
  return works ? seconds : INFINITY;
}

void* TrialScratch::of(const ConvRunner& runner) {
  if (runner.scratch_bytes() > bytes_) {
    memory_.reset();
    bytes_ = runner.scratch_bytes();
    memory_ = device_memory(bytes_);
  }
  return memory_.get();
}

TriedConvolution try_convolution(ConvRunner& runner, const ConvTrial& trial, void* scratch,
                                 double best_seconds, const TrialPatience& patience) {
  constexpr double hopeless = 3, noise_s = 1e-5;
  constexpr int timed_runs = 2;  // beside the one that decides whether it is worth them
  TriedConvolution result{runner.name(), trial.seconds_of(runner, scratch)};
  if (std::isinf(result.first_s) || result.first_s > loading_s + hopeless * best_seconds)
    return result;
  double seconds = result.second_s = trial.seconds_of(runner, scratch);
  if (seconds > patience.behind * best_seconds + noise_s) return result;
  for (int i = 0; i < timed_runs && seconds < patience.steady_s; ++i)
    seconds = std::min(seconds, trial.seconds_of(runner, scratch));
  result.seconds = seconds;
  return result;
}

double seconds_or_more(const TriedConvolution& tried) {
  return std::isinf(tried.second_s) ? tried.first_s - loading_s : tried.second_s;
}

}  // namespace strata::cuda::train
