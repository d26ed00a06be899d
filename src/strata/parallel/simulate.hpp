// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/pipeline_run.hpp"
#include "strata/parallel/stages.hpp"

#include <vector>

/// One iteration on all ranks. Each has a host, a stream of kernels and a stream of communication.
/// Ranks that do the same (those of data and tensor parallelism) are simulated once, so that there
/// is one per stage.
namespace strata {

struct RankIteration {
  double time_s = 0;
  std::vector<RankTime> ranks;       ///< by stage
  std::vector<RankTraffic> traffic;  ///< by stage
  std::vector<RankEvent> events;     ///< where they were asked for

  /// The mean over stages; its parts add up to time_s.
  RankTime mean() const;
};

/// Errors (unsupported): millions of micro-batches whose rounds are not alike.
RankIteration simulate_ranks(const RankCosts& costs, const std::vector<LayerChunk>& chunks,
                             const Strategy& strategy, const Cluster& cluster,
                             const RankEngine& engine, WantEvents wants_events = WantEvents::no,
                             Rounds rounds = Rounds::alike_count_once);

}  // namespace strata
