// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "strata/measure/cuda/attention/attention.cuh"
#include "strata/measure/cuda/node.cuh"
#include "strata/measure/engine/tensor_numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::cuda::train {
namespace {

constexpr std::array<std::string_view, 3> attention_ways = {product_attention, fused_attention,
                                                            cudnn_attention};

/// Random tensors of one shape, on which ways are timed and compared.
class AttentionTrial {
 public:
  AttentionTrial(const AttentionShape& shape, cudaStream_t stream)
      : shape_(shape),
        stream_(stream),
        inputs_{filled(shape.query_elements(), 1), filled(shape.key_elements(), 2),
                filled(shape.value_elements(), 3), filled(mask_elements(), 4)},
        output_{filled(shape.output_elements(), 5)},
        output_gradient_{filled(shape.is_training ? shape.output_elements() : 0, 6)},
        elements_{shape.query_elements(), shape.key_elements(), shape.value_elements(),
                  mask_elements()} {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (shape.gradients[i]) gradients_[i] = filled(elements_[i], 7);
    }
  }

  /// The shortest of a few runs, forward and backward; the first loads the kernels. Each begins
  /// behind other work, as it does in a network: from an idle GPU a way of many small kernels would
  /// be charged for their launches.
  double seconds_of(AttentionRunner& runner) {
    constexpr int timed_runs = 3;
    const AttentionNeeds needs = runner.needs();
    const auto saved = device_memory(needs.saved_bytes);
    const auto scratch = device_memory(needs.scratch_bytes);
    AttentionMemory memory = this->memory();
    memory.saved = shape_.is_training ? saved.get() : nullptr;
    memory.scratch = scratch.get();
    double best = INFINITY;
    for (int i = 0; i <= timed_runs; ++i) {
      const Event start, end;
      runner.forward(memory);
      start.record(stream_);
      runner.forward(memory);
      if (makes_any()) runner.backward(memory);
      end.record(stream_);
      const double seconds = end.seconds_since(start);
      if (i > 0) best = std::min(best, seconds);
    }
    return best;
  }

  /// Output and gradients as the last run left them, both ends of each.
  std::vector<std::vector<double>> results() const {
    std::vector<std::vector<double>> all = {ends_of(output_.get(), shape_.output_elements())};
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (gradients_[i]) all.push_back(ends_of(gradients_[i].get(), elements_[i]));
    }
    return all;
  }

  /// How far two ways may be apart, relative: each rounds its probabilities where it likes.
  double tolerance() const {
    switch (shape_.dtype) {
      case DType::fp64: return 1e-9;
      case DType::fp32: return 1e-4;
      case DType::tf32: return 5e-3;
      case DType::fp16: return 1e-2;
      default: return 5e-2;
    }
  }

 private:
  std::int64_t mask_elements() const {
    if (!shape_.has_mask) return 0;
    const std::array<std::int64_t, 4> extents = {shape_.batch, shape_.heads, shape_.queries,
                                                 shape_.keys};
    std::int64_t last = 0;
    for (std::size_t i = 0; i < extents.size(); ++i)
      last += (extents[i] - 1) * shape_.mask_strides[i];
    return last + 1;
  }
  std::shared_ptr<void> filled(std::int64_t elements, std::uint32_t seed) const {
    auto memory = device_memory(elements * bytes_per_element(shape_.dtype));
    if (elements > 0) fill_uniform(memory.get(), elements, shape_.dtype, seed, stream_);
    return memory;
  }
  AttentionMemory memory() const {
    AttentionMemory memory;
    memory.q = inputs_[0].get();
    memory.k = inputs_[1].get();
    memory.v = inputs_[2].get();
    if (shape_.has_mask) memory.mask = inputs_[3].get();
    memory.output = output_.get();
    memory.output_gradient = output_gradient_.get();
    for (std::size_t i = 0; i < gradients_.size(); ++i) memory.gradients[i] = gradients_[i].get();
    return memory;
  }
  bool makes_any() const {
    return std::find(shape_.gradients.begin(), shape_.gradients.end(), true) !=
           shape_.gradients.end();
  }
  std::vector<double> ends_of(const void* data, std::int64_t elements) const {
    constexpr std::int64_t most = 1 << 16;
    const std::int64_t count = std::min(elements, most), size = bytes_per_element(shape_.dtype);
    std::vector<double> numbers;
    for (const std::int64_t first : {std::int64_t{0}, elements - count}) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(count * size));
      STRATA_CUDA_CALL(cudaMemcpyAsync(bytes.data(),
                                       static_cast<const std::byte*>(data) + first * size,
                                       bytes.size(), cudaMemcpyDeviceToHost, stream_));
      STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
      const std::vector<double> part = tensor_numbers(bytes, shape_.dtype);
      numbers.insert(numbers.end(), part.begin(), part.end());
    }
    return numbers;
  }

  AttentionShape shape_;
  cudaStream_t stream_;
  std::array<std::shared_ptr<void>, 4> inputs_;
  std::shared_ptr<void> output_, output_gradient_;
  std::array<std::int64_t, 4> elements_;
  std::array<std::shared_ptr<void>, 4> gradients_;
};

/// The worst of the tensors, relative, L2; infinite where a number is missing.
double distance_of(const std::vector<std::vector<double>>& found,
                   const std::vector<std::vector<double>>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double difference = 0, size = 0;
    for (std::size_t k = 0; k < expected[i].size(); ++k) {
      difference += (found[i][k] - expected[i][k]) * (found[i][k] - expected[i][k]);
      size += expected[i][k] * expected[i][k];
    }
    const double distance = std::sqrt(difference / (size + 1e-30));
    worst = std::max(worst, std::isfinite(distance) ? distance : INFINITY);
  }
  return worst;
}

}  // namespace

Attentions::Attentions(const TrainingContext& context) : context_(context) {
  const std::string& forced = context.choices.attention;
  if (!forced.empty() &&
      std::find(attention_ways.begin(), attention_ways.end(), forced) == attention_ways.end())
    fail(ErrorKind::usage, "there is no attention '{}'; there are {}", forced,
         fmt::join(attention_ways, ", "));
}

AttentionOrReason Attentions::make(std::string_view name, const AttentionShape& shape) {
  if (name == product_attention) return make_product_attention(context_, shape);
  if (name == fused_attention) return make_fused_attention(context_, shape);
  if (!cudnn_ && no_cudnn_.empty()) cudnn_ = load_cudnn_attention(context_.stream(), no_cudnn_);
  if (!cudnn_) return no_cudnn_;
  return cudnn_->make(shape);
}

AttentionOrReason Attentions::make_if_it_fits(std::string_view name, const AttentionShape& shape) {
  try {
    return make(name, shape);
  } catch (const Error& error) {  // scores may need more memory than there is
    if (error.kind() != ErrorKind::environment) throw;
    return std::string(error.what());
  }
}

// Who is fastest so far must agree with the first that ran.
std::shared_ptr<AttentionRunner> Attentions::fastest(const AttentionShape& shape,
                                                     std::string& reason) {
  AttentionTrial trial(shape, context_.stream());
  std::vector<std::vector<double>> expected;
  std::shared_ptr<AttentionRunner> best;
  double best_seconds = INFINITY;
  for (const std::string_view name : attention_ways) {
    AttentionOrReason made = make_if_it_fits(name, shape);
    if (const auto* refusal = std::get_if<std::string>(&made)) {
      if (reason.empty()) reason = *refusal;
      continue;
    }
    auto runner = std::get<std::unique_ptr<AttentionRunner>>(std::move(made));
    try {
      const double seconds = trial.seconds_of(*runner);
      const auto results = trial.results();
      if (expected.empty()) expected = results;
      if (seconds >= best_seconds || distance_of(results, expected) > trial.tolerance()) continue;
      best_seconds = seconds;
      best = std::move(runner);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::environment) throw;
      if (reason.empty()) reason = error.what();
    }
  }
  return best;
}

std::variant<std::shared_ptr<AttentionRunner>, std::string> Attentions::runner(
    const AttentionShape& shape) {
  auto& known = known_[shape];
  if (known) return known;
  std::string reason;
  if (context_.choices.attention.empty()) {
    known = fastest(shape, reason);
  } else {
    AttentionOrReason made = make(context_.choices.attention, shape);
    if (const auto* refusal = std::get_if<std::string>(&made)) {
      reason = *refusal;
    } else {
      known = std::get<std::unique_ptr<AttentionRunner>>(std::move(made));
    }
  }
  if (!known) return reason;
  return known;
}

}  // namespace strata::cuda::train
