// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/parallel.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// "What if", of training on many devices: the same iteration with one thing changed.
namespace strata {

struct ParallelChange {
  std::string text;            ///< "micro=8", "twice the network"
  bool is_of_cluster = false;  ///< what somebody buys; else what whoever trains says
  bool is_search = false;      ///< the best of all strategies
  Strategy strategy;
  std::string reason;                 ///< why it is not possible; empty: it is
  std::optional<double> time_s = {};  ///< of a device that had the memory, where it does not fit
  std::int64_t memory_bytes = 0;      ///< of the rank that holds most
  bool fits = false;
};

/// A cluster as it is, or with one thing changed.
struct ChangedCluster {
  std::string text;
  Cluster cluster;
};
/// Twice the network, twice the link inside a node, twice as many devices that it joins; what
/// applies. Where collectives were measured, nobody knows how long they would take.
std::vector<ChangedCluster> cluster_changes(const Cluster& cluster);

/// The strategy with one thing changed: other stages of ZeRO, twice and half the micro-batches,
/// other recomputation, sequence parallelism, another schedule; where the network has them, experts
/// over twice and half the ranks, and sequences over twice as many. Some may not be possible.
struct ChangedStrategy {
  std::string text;
  Strategy strategy;
};
std::vector<ChangedStrategy> strategy_changes(const Strategy& strategy, bool keeps_scores,
                                              const NetworkChoices& network = {});

using ParallelChangeProgress = std::function<void(std::size_t done, std::size_t all)>;

/// Predicts each, and the best of all strategies: those that fit first, the fastest of them first;
/// those that are not possible last, with the reason. `searched`: where the best was found already.
std::vector<ParallelChange> parallel_changes(const Graph& graph, const Cluster& cluster,
                                             const PredictRequest& request, ParallelModel& model,
                                             const Strategy& now,
                                             const ParallelChoice* searched = nullptr,
                                             const ParallelChangeProgress& on_progress = {});

}  // namespace strata
