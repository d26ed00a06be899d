// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/parallel/rank_memory.hpp"
#include "strata/parallel/repeated_blocks.hpp"
#include "strata/parallel/simulate.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

/// A network on a cluster, asked for one strategy after the other.
namespace strata {

/// What a strategy comes to.
struct StrategyTime {
  Strategy strategy;
  double time_s = 0, low_s = 0, high_s = 0;  ///< nine of ten iterations lie between the two
  RankIteration iteration;
  std::vector<RankMemory> memory;  ///< by stage
  std::int64_t micro_batch = 0;    ///< samples of one micro-batch on one rank

  /// Of the rank that holds most.
  const RankMemory& most_memory() const;
};

class StrategyPlanner {
 public:
  /// `binding` gives every size; its batch is that of all devices together. Graph, cluster and
  /// what the engine refers to must outlive this.
  StrategyPlanner(const Graph& graph, const Cluster& cluster, const RankEngine& engine,
                  Binding binding);
  /// The same for many strategies of a network that repeats its blocks: faster, with the same
  /// times, and an interval of about the same width.
  StrategyPlanner(const ShortenedGraph& shortened, const Cluster& cluster, const RankEngine& engine,
                  Binding binding);

  std::int64_t samples() const { return samples_; }

  /// Errors (usage, unsupported) say what is against a strategy.
  StrategyTime time_of(const Strategy& strategy, WantEvents wants_events = WantEvents::no);
  /// Memory alone, which takes no simulation.
  std::vector<RankMemory> memory_of(const Strategy& strategy);

  const RankCosts& costs_of(const Strategy& strategy);
  /// Over how many ranks a search shares the sequences: 1, 2, 4, …, as long as each rank has
  /// `least_positions` of them; 1 alone where the network does not allow it.
  std::vector<std::int64_t> context_choices(std::int64_t least_positions) const;
  /// What the number of ranks that share experts must divide; 0: there are no experts.
  std::int64_t experts() const;
  /// Whether selective recomputation has anything to drop: scores of attention that are kept.
  bool keeps_scores();
  const SplitGraph& split_of(std::int64_t tensor_ranks);

 private:
  const Graph& graph_;
  const ShortenedGraph* shortened_ = nullptr;
  const Cluster& cluster_;
  RankEngine engine_;
  Binding binding_;
  std::int64_t samples_ = 0;
  std::map<std::int64_t, SplitGraph> splits_;
  std::map<std::int64_t, Error> refusals_;  // of splits
  using CostKey = std::tuple<std::int64_t, std::int64_t, ContextExchange, std::int64_t,
                             std::int64_t, bool, RankRecompute>;
  std::map<CostKey, RankCosts> costs_;
};

}  // namespace strata
