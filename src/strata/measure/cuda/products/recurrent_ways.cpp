// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/products/recurrent_ways.cuh"

#include "strata/base/error.hpp"
#include "strata/measure/cuda/products/recurrent_trial.cuh"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

namespace strata::cuda::train {
namespace {

constexpr std::string_view cudnn_recurrent = "cudnn";

/// All that a choice may depend on.
std::string recurrent_question(const Recurrent& op, const NodeFacts& facts,
                               const std::string& forced) {
  const BoundTensor& x = facts.inputs[0];
  std::string key = fmt::format(
      "recurrent {} cell={} batch={} times={} features={} hidden={} layers={} both_ways={} "
      "projection={} biases={} states={} {} by={}",
      name_of(x.dtype), static_cast<int>(op.cell), x[0], x[1], x[2], op.hidden, op.layers,
      op.bidirectional ? 1 : 0, op.projection, op.biases, facts.first_own - 1,
      facts.is_training ? "training" : "inference", forced.empty() ? "any" : forced);
  if (facts.is_training && !x.wants_gradient) key += " weights_only";
  return key;
}

/// For who asked for one by name and does not get it.
NoKernels no_way(const std::string& forced, const std::vector<RecurrentWay>& ways) {
  std::string reasons;
  for (const RecurrentWay& way : ways) {
    if (!way.why_not.empty())
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", way.name, way.why_not);
  }
  return {fmt::format("no {} for this recurrent layer{}{}", forced.empty() ? "way" : forced,
                      reasons.empty() ? "" : ": ", reasons)};
}

struct FastestWay {
  RecurrentWay* way = nullptr;
  double seconds = INFINITY;
};

/// Nothing where none runs and is right. Without memory to try them, the first that is ready.
FastestWay fastest_of(std::vector<RecurrentWay>& list, const Recurrent& op, const NodeFacts& facts,
                      const std::string& wanted) {
  FastestWay best;
  std::optional<RecurrentTrial> trial;
  try {
    trial.emplace(facts, op.hidden);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::environment) throw;
    for (RecurrentWay& way : list) {
      if (way.kernels) return {&way};
    }
    return best;
  }
  // Ours is what others are held against, also where it is not wanted itself.
  if (!wanted.empty() && wanted != own_recurrent && facts.context->products) {
    std::string ignored;
    trial->seconds(*make_stepwise(op, facts), INFINITY, ignored);
  }
  for (RecurrentWay& way : list) {
    if (!way.kernels) continue;
    const double seconds = trial->seconds(*way.kernels, best.seconds, way.why_not);
    if (seconds < best.seconds) best = {&way, seconds};
  }
  return best;
}

}  // namespace

RecurrentSource* Recurrences::cudnn(cudaStream_t stream) {
  if (!has_looked_for_cudnn_) cudnn_ = make_cudnn_recurrent_source(stream, no_cudnn_);
  has_looked_for_cudnn_ = true;
  return cudnn_.get();
}

std::vector<RecurrentWay> Recurrences::ways(const Recurrent& op, const NodeFacts& facts,
                                            const std::string& wanted) {
  std::vector<RecurrentWay> list;
  if (wanted.empty() || wanted == own_recurrent) {
    RecurrentWay own{std::string(own_recurrent), nullptr};
    if (facts.context->products) {
      own.kernels = make_stepwise(op, facts);
    } else {
      own.why_not = facts.context->no_products;
    }
    list.push_back(std::move(own));
  }
  if (wanted == own_recurrent) return list;
  if (RecurrentSource* const source = cudnn(facts.context->stream())) {
    const bool is_one = !wanted.empty() && wanted != cudnn_recurrent;
    for (RecurrentWay& way : source->ways(op, facts, is_one ? wanted : ""))
      list.push_back(std::move(way));
  } else {
    list.push_back({std::string(cudnn_recurrent), nullptr, no_cudnn_});
  }
  return list;
}

// From an earlier layer of the same shape, or from an earlier run: then it must still run, be right
// and about as fast as it was.
std::unique_ptr<NodeKernels> Recurrences::known_way(const std::string& question,
                                                    const Recurrent& op, const NodeFacts& facts) {
  constexpr double about = 1.5, noise_s = 5e-5;
  if (const auto known = known_.find(question); known != known_.end()) {
    for (RecurrentWay& way : ways(op, facts, known->second)) {
      if (way.kernels) return std::move(way.kernels);
    }
  }
  const auto choice = choices_->find(question);
  if (!choice) return nullptr;
  std::vector<RecurrentWay> list = ways(op, facts, choice->choice);
  const FastestWay found = fastest_of(list, op, facts, choice->choice);
  if (found.way == nullptr || found.seconds > about * choice->seconds + noise_s) return nullptr;
  choices_->use(*choice);
  known_[question] = choice->choice;
  return std::move(found.way->kernels);
}

KernelsOrReason Recurrences::fastest(const Recurrent& op, const NodeFacts& facts) {
  const std::string question = recurrent_question(op, facts, forced_);
  if (auto kernels = known_way(question, op, facts)) return kernels;
  std::vector<RecurrentWay> list = ways(op, facts, forced_);
  const FastestWay best = fastest_of(list, op, facts, forced_);
  if (best.way == nullptr) return no_way(forced_, list);
  known_[question] = best.way->name;
  choices_->put(question, best.way->name, best.seconds);
  return std::move(best.way->kernels);
}

KernelsOrReason make_kernels(const Recurrent& op, const NodeFacts& facts) {
  return facts.context->recurrences->fastest(op, facts);
}

}  // namespace strata::cuda::train
