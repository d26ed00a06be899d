// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/parallel_changes.hpp"
#include "strata/explain/explain.hpp"

/// What training on many devices loses its time to, and what would change that: an Explanation as
/// explain/ makes it of one device.
namespace strata {

/// `changes` are those of parallel_changes. A pure function.
Explanation explain_parallel(const ParallelSummary& summary, const Cluster& cluster,
                             const std::vector<ParallelChange>& changes);

/// Predicts it with every change and explains it. `searched`: where all strategies were tried.
Explanation explain_strategy(const Graph& graph, const Cluster& cluster,
                             const PredictRequest& request, ParallelModel& model,
                             const ParallelSummary& summary,
                             const ParallelChoice* searched = nullptr,
                             const ParallelChangeProgress& on_progress = {});

}  // namespace strata
