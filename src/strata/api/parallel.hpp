// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/report/parallel_report.hpp"

#include <memory>

/// Training on many devices: what a strategy takes on a cluster, and which one is fastest.
namespace strata {

/// A network on a cluster with all that its strategies share.
class ParallelModel {
 public:
  /// The graph and the cluster must outlive it. Errors (unsupported): no expected times on the
  /// machine; (usage): options that do not go with several devices.
  ParallelModel(const Graph& graph, const Cluster& cluster, const PredictRequest& request);
  ~ParallelModel();
  ParallelModel(const ParallelModel&) = delete;
  ParallelModel& operator=(const ParallelModel&) = delete;

  ParallelSummary predict(const Strategy& strategy, WantEvents wants_events = WantEvents::no);
  /// The fastest of all legal strategies, with those that lose. Errors (unsupported): there is
  /// none.
  ParallelChoice choose(const SearchSpace& space = {}, const SearchProgress& progress = {},
                        WantEvents wants_events = WantEvents::no);
  StrategyPlanner& planner() { return *planner_; }
  const ParallelContext& context() const { return context_; }

 private:
  double limit_s(const StrategyTime& result);

  const Graph& graph_;
  const Cluster& cluster_;
  PredictRequest request_;
  std::unique_ptr<ExpectedTimes> times_;
  BoundGraph bound_;
  RankEngine engine_;
  std::unique_ptr<StrategyPlanner> planner_;
  ParallelContext context_;
};

}  // namespace strata
