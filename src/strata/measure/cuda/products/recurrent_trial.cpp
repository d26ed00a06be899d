// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/products/recurrent_trial.cuh"

#include "strata/base/error.hpp"
#include "strata/measure/engine/tensor_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace strata::cuda::train {

RecurrentTrial::RecurrentTrial(const NodeFacts& facts, std::int64_t hidden)
    : stream_(facts.context->stream()),
      dtype_(facts.inputs[0].dtype),
      is_training_(facts.is_training) {
  // As a network is when training begins: larger weights would drive all gates one way.
  const double largest_weight =
      1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(hidden, 1)));
  std::uint64_t seed = 1;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    const BoundTensor& tensor = facts.inputs[i];
    given_.push_back(random(tensor, i >= facts.first_own ? largest_weight : 1, seed++));
    memory_.inputs.push_back(given_.back().memory.get());
    const bool is_made = is_training_ && tensor.wants_gradient;
    if (is_made) results_.push_back(made(tensor));
    memory_.input_gradients.push_back(is_made ? results_.back().memory.get() : nullptr);
  }
  for (const BoundTensor& tensor : facts.outputs) {
    results_.push_back(made(tensor));
    memory_.outputs.push_back(results_.back().memory.get());
    const bool is_there = is_training_ && tensor.wants_gradient;
    if (is_there) given_.push_back(random(tensor, 1, seed++));
    memory_.output_gradients.push_back(is_there ? given_.back().memory.get() : nullptr);
  }
}

RecurrentTrial::Tensor RecurrentTrial::made(const BoundTensor& like) const {
  return {device_memory(like.bytes), like.bytes, like.dtype};
}

// A block of random numbers, over and over: each copy doubles what is there.
RecurrentTrial::Tensor RecurrentTrial::random(const BoundTensor& like, double largest,
                                              std::uint64_t seed) const {
  constexpr std::int64_t most_block = 65'537;  // prime, so that rows of a matrix differ
  Tensor tensor = made(like);
  std::mt19937_64 source(seed);
  std::uniform_real_distribution<double> numbers(-largest, largest);
  std::vector<double> block(static_cast<std::size_t>(std::min(like.elements, most_block)));
  for (double& number : block) number = numbers(source);
  const std::vector<std::byte> bytes = tensor_bytes(block, like.dtype);
  auto* const to = static_cast<char*>(tensor.memory.get());
  auto filled = static_cast<std::int64_t>(bytes.size());
  STRATA_CUDA_CALL(
      cudaMemcpyAsync(to, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_));
  STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
  while (filled < tensor.bytes) {
    const std::int64_t more = std::min(filled, tensor.bytes - filled);
    STRATA_CUDA_CALL(cudaMemcpyAsync(to + filled, to, static_cast<std::size_t>(more),
                                     cudaMemcpyDeviceToDevice, stream_));
    filled += more;
  }
  return tensor;
}

double RecurrentTrial::seconds_once(NodeKernels& way) const {
  const Event start, end;
  start.record(stream_);
  way.run(Pass::forward, memory_);
  if (is_training_) way.run(Pass::backward, memory_);
  end.record(stream_);
  return end.seconds_since(start);
}

double RecurrentTrial::seconds(NodeKernels& way, double best_seconds, std::string& why_not) {
  // The first run also loads kernels, which takes longer than most layers.
  constexpr double loading_s = 0.05, hopeless = 3;
  constexpr int timed_runs = 3;
  try {
    const NodeNeeds needs = way.needs();
    const std::shared_ptr<void> saved = device_memory(std::max<std::int64_t>(needs.saved_bytes, 1));
    const std::shared_ptr<void> scratch =
        device_memory(std::max<std::int64_t>(needs.scratch_bytes, 1));
    memory_.saved = saved.get();
    memory_.scratch = scratch.get();
    poison_results();
    const double first = seconds_once(way);
    if (const double found = error(); !(found <= tolerance())) {
      why_not = fmt::format("differs by {:.1e} from the first way", found);
      return INFINITY;
    }
    if (first > loading_s + hopeless * best_seconds) {
      why_not = "far slower";
      return INFINITY;
    }
    double seconds = INFINITY;
    for (int i = 0; i < timed_runs; ++i) seconds = std::min(seconds, seconds_once(way));
    return seconds;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::environment && error.kind() != ErrorKind::unsupported) throw;
    why_not = error.what();
    return INFINITY;
  }
}

// All bits set is not a number in any of the types: what a way does not write shows.
void RecurrentTrial::poison_results() const {
  for (const Tensor& tensor : results_)
    STRATA_CUDA_CALL(cudaMemsetAsync(tensor.memory.get(), 0xFF,
                                     static_cast<std::size_t>(tensor.bytes), stream_));
}

// Short pieces, evenly from the whole.
std::vector<double> RecurrentTrial::sampled(const Tensor& tensor) const {
  constexpr std::int64_t piece = 64, most_pieces = 1024;
  const std::int64_t whole = tensor.bytes / piece;
  const std::int64_t pieces = std::clamp<std::int64_t>(whole, 1, most_pieces);
  const auto width = static_cast<std::size_t>(std::min(piece, tensor.bytes));
  const auto pitch = static_cast<std::size_t>(std::max<std::int64_t>(whole / pieces, 1) * piece);
  std::vector<std::byte> bytes(width * static_cast<std::size_t>(pieces));
  STRATA_CUDA_CALL(cudaMemcpy2DAsync(bytes.data(), width, tensor.memory.get(), pitch, width,
                                     static_cast<std::size_t>(pieces), cudaMemcpyDeviceToHost,
                                     stream_));
  STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
  return tensor_numbers(bytes, tensor.dtype);
}

double RecurrentTrial::error() {
  const bool is_first = expected_.empty();
  double largest = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    std::vector<double> found = sampled(results_[i]);
    double difference = 0, size = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double expected = is_first ? found[k] : expected_[i][k];
      difference += (found[k] - expected) * (found[k] - expected);
      size += expected * expected;
    }
    const double error =
        std::sqrt(difference / (size + 1e-12 * static_cast<double>(found.size() + 1)));
    largest = std::isfinite(error) ? std::max(largest, error) : INFINITY;
    if (is_first) expected_.push_back(std::move(found));
  }
  // A first way that does not compute is nothing to hold others against.
  if (is_first && !std::isfinite(largest)) expected_.clear();
  return largest;
}

// What the data type brings over many steps; fp32 that was rounded to TF32 on the way is beyond it.
double RecurrentTrial::tolerance() const {
  switch (dtype_) {
    case DType::fp64: return 1e-9;
    case DType::fp32: return 5e-5;
    case DType::tf32: return 1e-2;
    case DType::fp16: return 2e-2;
    default: return 1e-1;
  }
}

}  // namespace strata::cuda::train
