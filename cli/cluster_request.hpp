// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/api/explain_parallel.hpp"

namespace strata {

/// The cluster that --on asks for, with what --set changes.
Cluster cluster_of(const Arguments& given);

/// What is predicted on a cluster, and all that it takes to predict it again.
struct ClusterRequest {
  Graph graph;
  Cluster cluster;
  PredictRequest wanted;
  ParallelModel model;

  explicit ClusterRequest(const Arguments& given);

  ParallelChoice choose(WantEvents wants_events);
  /// `searched`: where all strategies were tried already.
  Explanation explain(const ParallelSummary& summary, const ParallelChoice* searched);
};

}  // namespace strata
