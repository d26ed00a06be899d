// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/planner.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Every legal strategy for a network on a cluster: which one is fastest, which ones no other beats
/// in both time and memory, and why the others lose.
namespace strata {

/// A strategy in short.
struct StrategyOutcome {
  Strategy strategy;
  std::int64_t memory_bytes = 0;  ///< of the rank that holds most
  bool fits = false;
  double time_s = 0;  ///< 0: it does not fit, and was not timed
  RankTime parts;     ///< the mean over ranks
};

struct StrategySearch {
  std::vector<StrategyOutcome> outcomes;  ///< those that fit first, by time; then by memory
  std::vector<std::size_t> pareto;        ///< of time and memory, the fastest first
  std::vector<std::string> refused;       ///< reasons against whole families: "tp=16: …"

  const StrategyOutcome* best() const;
};

/// What is tried.
struct SearchSpace {
  std::int64_t most_chunks = 8;      ///< of layers per stage
  bool has_recompute_choice = true;  ///< else the strategy keeps everything
  bool has_selective = true;         ///< recomputation of scores is among them
  /// cp beyond 1 is tried where each rank keeps so many positions: sequences from 8192 on.
  std::int64_t least_positions = 4096;
  /// Passes of micro-batches through stages, of all strategies: a few seconds. Strategies with more
  /// and more stages are tried until then.
  double most_passes = 100e6;
};

/// What of it depends on the network.
struct NetworkChoices {
  std::vector<std::int64_t> context = {1};  ///< cp
  std::int64_t experts = 0;                 ///< ep divides it; 0: there are none
};

NetworkChoices choices_of(const StrategyPlanner& planner, const SearchSpace& space = {});

/// Every strategy that the devices and the samples allow. Experts are on one rank, or spread over
/// one of the three largest numbers of ranks that divide both their number and dp x cp.
std::vector<Strategy> legal_strategies(const Cluster& cluster, std::int64_t samples,
                                       const SearchSpace& space = {},
                                       const NetworkChoices& network = {});

using SearchProgress = std::function<void(std::size_t done, std::size_t all)>;
StrategySearch search_strategies(StrategyPlanner& planner, const Cluster& cluster,
                                 std::int64_t device_memory_bytes, const SearchSpace& space = {},
                                 const SearchProgress& progress = {});

/// Why no strategy is legal, and the batch that changes it.
std::string reason_for_none(StrategyPlanner& planner, const Cluster& cluster);

/// In words, what makes a strategy slower than another one: the part that grew most. "bubble +3.1
/// s"; empty where nothing did.
std::string why_slower(const StrategyOutcome& slower, const StrategyOutcome& than);

}  // namespace strata
