// SPDX-License-Identifier: Apache-2.0
#include "strata/api/parallel_scaling.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/machine/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

std::string reason_of(const ParallelChoice& choice) {
  const auto& outcomes = choice.search.outcomes;
  return fmt::format("out of memory: the least that any of {} strategies needs is {}",
                     outcomes.size(),
                     format_capacity(static_cast<double>(outcomes.front().memory_bytes)));
}

void fill_row(ScalingRow& row, ParallelChoice choice, const TrainingTerms& terms) {
  row.strategies = choice.search.outcomes.size();
  row.fitting = static_cast<std::size_t>(
      std::count_if(choice.search.outcomes.begin(), choice.search.outcomes.end(),
                    [](const StrategyOutcome& one) { return one.fits; }));
  if (!choice.best) {
    row.reason = reason_of(choice);
    return;
  }
  row.best = std::move(choice.best);
  row.best->context.terms = terms;
}

}  // namespace

ParallelScaling predict_scaling(const Graph& graph, const Cluster& cluster,
                                const ScalingRequest& request, const ScalingProgress& progress) {
  ParallelScaling scaling;
  scaling.has_batch_per_device = request.batch_per_device.has_value();
  const auto request_on = [&](std::int64_t devices) {
    PredictRequest wanted = request.predict;
    if (request.batch_per_device)
      wanted.sizes.batch = checked_mul(*request.batch_per_device, devices);
    return wanted;
  };
  scaling.context = ParallelModel(graph, cluster, request_on(cluster.devices())).context();
  scaling.context.terms = request.terms;
  scaling.context.assumptions.clear();  // those of the clusters that are asked
  for (const std::int64_t devices : request.devices) {
    ScalingRow& row = scaling.rows.emplace_back();
    row.devices = devices;
    std::optional<Cluster> some;
    try {
      some = with_devices(cluster, devices);
    } catch (const Error& error) {
      row.reason = error.what();
      continue;
    }
    ParallelModel model(graph, *some, request_on(devices));
    for (const std::string& assumption : model.context().assumptions) {
      auto& all = scaling.context.assumptions;
      if (std::find(all.begin(), all.end(), assumption) == all.end()) all.push_back(assumption);
    }
    try {
      fill_row(row,
               model.choose({},
                            [&](std::size_t done, std::size_t all) {
                              if (progress) progress(devices, done, all);
                            }),
               request.terms);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      row.reason = error.what();
    }
  }
  return scaling;
}

}  // namespace strata
