// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/parallel.hpp"
#include "strata/report/scaling_report.hpp"

#include <functional>
#include <vector>

/// How far a network scales: the best strategy for each number of devices.
namespace strata {

struct ScalingRequest {
  PredictRequest predict;
  std::vector<std::int64_t> devices;
  std::optional<std::int64_t> batch_per_device = {};  ///< else the batch stays as it is
  TrainingTerms terms = {};
};

using ScalingProgress =
    std::function<void(std::int64_t devices, std::size_t done, std::size_t all)>;

/// Nodes are added: all but those with less than one node have as many devices per node as the
/// cluster. What fails for one number of devices is a row with a reason. Errors as of
/// ParallelModel.
ParallelScaling predict_scaling(const Graph& graph, const Cluster& cluster,
                                const ScalingRequest& request,
                                const ScalingProgress& progress = {});

}  // namespace strata
