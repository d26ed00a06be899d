// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/planner.hpp"

#include "strata/graph/experts.hpp"
#include "strata/parallel/context_split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strata {
namespace {

/// How far off collectives may be, one sigma: links differ from node to node, and libraries choose
/// among rings and trees. An assumption.
constexpr double communication_sigma = 0.3;

std::int64_t samples_of(const Graph& graph, const Binding& binding) {
  const auto batch = binding.find("batch");
  if (graph.recording != nullptr)
    fail(ErrorKind::unsupported,
         "{}: a recording is a step of one device, and cannot be split over others: predict the "
         "network from a file or by its name",
         graph.name);
  if (batch == binding.end())
    fail(ErrorKind::unsupported,
         "{} has a fixed batch, which cannot be split over devices: export it with an open batch",
         graph.name);
  return batch->second;
}

/// The interval of the kernels, wider by what is not known of links.
void find_interval(StrategyTime& result, const RankCosts& costs, const RankEngine& engine) {
  const RankTime mean = result.iteration.mean();
  const double exposed_s = mean.tensor_s + mean.context_s + mean.experts_s + mean.gradients_s +
                           mean.parameters_s + mean.pipeline_s;
  const double factor = engine.calibration->interval_factor;
  const double links = exposed_s > 0 ? factor * communication_sigma * exposed_s / result.time_s : 0;
  const double beyond = std::hypot(links, engine.sigma);
  result.low_s = result.time_s * std::exp(-std::hypot(std::log(costs.low), beyond));
  result.high_s = result.time_s * std::exp(std::hypot(std::log(costs.high), beyond));
}

}  // namespace

const RankMemory& StrategyTime::most_memory() const {
  return *std::max_element(
      memory.begin(), memory.end(),
      [](const RankMemory& a, const RankMemory& b) { return a.total_bytes() < b.total_bytes(); });
}

StrategyPlanner::StrategyPlanner(const Graph& graph, const Cluster& cluster,
                                 const RankEngine& engine, Binding binding)
    : graph_(graph),
      cluster_(cluster),
      engine_(engine),
      binding_(std::move(binding)),
      samples_(samples_of(graph, binding_)) {}

StrategyPlanner::StrategyPlanner(const ShortenedGraph& shortened, const Cluster& cluster,
                                 const RankEngine& engine, Binding binding)
    : StrategyPlanner(shortened.graph, cluster, engine, std::move(binding)) {
  shortened_ = &shortened;
}

const SplitGraph& StrategyPlanner::split_of(std::int64_t tensor_ranks) {
  const auto known = splits_.find(tensor_ranks);
  if (known != splits_.end()) return known->second;
  if (const auto refused = refusals_.find(tensor_ranks); refused != refusals_.end())
    throw refused->second;
  try {
    return splits_.emplace(tensor_ranks, split_tensors(graph_, tensor_ranks)).first->second;
  } catch (const Error& error) {
    refusals_.emplace(tensor_ranks, error);
    throw;
  }
}

std::vector<std::int64_t> StrategyPlanner::context_choices(std::int64_t least_positions) const {
  std::vector<std::int64_t> choices = {1};
  const auto length = sequence_length(graph_, binding_);
  if (!length) return choices;
  try {
    for (std::int64_t ranks = 2; binding_.at(*length) / ranks >= least_positions; ranks *= 2) {
      split_context(graph_, binding_, ranks);
      choices.push_back(ranks);
    }
  } catch (const Error& error) {  // nor can more ranks
    if (error.kind() != ErrorKind::unsupported) throw;
  }
  return choices;
}

std::int64_t StrategyPlanner::experts() const {
  std::int64_t common = 0;
  for (const ExpertLayer& layer : find_experts(graph_).layers)
    common = std::gcd(common, layer.count);
  return common;
}

bool StrategyPlanner::keeps_scores() {
  Strategy alone;
  alone.micro_batches = samples_;
  return costs_of(alone).keeps_scores;
}

const RankCosts& StrategyPlanner::costs_of(const Strategy& strategy) {
  const std::int64_t micro_batch = samples_ / strategy.data / strategy.micro_batches;
  const CostKey key{strategy.tensor, strategy.context,           strategy.exchange, strategy.expert,
                    micro_batch,     strategy.sequence_parallel, strategy.recompute};
  const auto known = costs_.find(key);
  if (known != costs_.end()) return known->second;
  Binding binding = binding_;
  binding["batch"] = micro_batch;
  RepeatedBlock repeated;
  if (shortened_ != nullptr) repeated = {shortened_->repeated, shortened_->left_out};
  RankCosts costs =
      rank_costs(split_of(strategy.tensor), binding, strategy, cluster_, engine_, repeated);
  if (shortened_ != nullptr) costs = lengthen(std::move(costs), *shortened_);
  return costs_.emplace(key, std::move(costs)).first->second;
}

std::vector<RankMemory> StrategyPlanner::memory_of(const Strategy& strategy) {
  check_strategy(strategy, cluster_, samples_);
  const RankCosts& costs = costs_of(strategy);
  return rank_memory(costs, make_chunks(costs, strategy), strategy);
}

StrategyTime StrategyPlanner::time_of(const Strategy& strategy, WantEvents wants_events) {
  check_strategy(strategy, cluster_, samples_);
  const RankCosts& costs = costs_of(strategy);
  const std::vector<LayerChunk> chunks = make_chunks(costs, strategy);
  StrategyTime result;
  result.strategy = strategy;
  result.micro_batch = samples_ / strategy.data / strategy.micro_batches;
  result.memory = rank_memory(costs, chunks, strategy);
  result.iteration = simulate_ranks(costs, chunks, strategy, cluster_, engine_, wants_events);
  result.time_s = result.iteration.time_s;
  find_interval(result, costs, engine_);
  return result;
}

}  // namespace strata
