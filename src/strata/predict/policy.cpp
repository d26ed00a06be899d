// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/policy.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/best.hpp"
#include "strata/predict/exact.hpp"
#include "strata/predict/plan.hpp"

#include <cmath>
#include <utility>

namespace strata {

void check(const Hardware& hardware) {
  const auto is_rate = [](double rate) { return std::isfinite(rate) && rate > 0; };
  if (hardware.capacity_bytes < 1)
    fail(ErrorKind::usage, "the on-chip capacity (--capacity) must be at least 1 byte, got {}",
         hardware.capacity_bytes);
  if (!is_rate(hardware.bytes_per_s))
    fail(ErrorKind::input, "the off-chip bandwidth must be a number above 0, got {}",
         hardware.bytes_per_s);
  for (const double rate : {hardware.dense_flop_per_s, hardware.other_flop_per_s}) {
    if (!is_rate(rate))
      fail(ErrorKind::input, "the throughput must be a number above 0, got {}", rate);
  }
}

PredictOptions effective_options(const PredictOptions& options) {
  PredictOptions adjusted = options;
  switch (options.policy) {
    case Policy::best: break;
    case Policy::belady:
      adjusted.prefetch = Prefetch::none;
      adjusted.offload = Offload::on_demand;
      break;
    case Policy::thesis:
      adjusted.prefetch = options.prefetch.value_or(Prefetch::listing);
      adjusted.offload = options.offload.value_or(Offload::look_ahead);
      break;
    case Policy::exact:
      adjusted.prefetch = options.prefetch.value_or(Prefetch::soonest);
      adjusted.offload = options.offload.value_or(Offload::look_ahead);
      break;
  }
  return adjusted;
}

Decision decide(const AccessList& list, const Hardware& hardware, const PredictOptions& options) {
  check(hardware);
  check_rows(list, widest_step(list), hardware, options);
  Decision decision{.plan = {},
                    .hardware = hardware,
                    .options = effective_options(options),
                    .least_traffic_bytes = {}};
  switch (options.policy) {
    case Policy::belady:
    case Policy::thesis:
      decision.plan = farthest_next_use_plan(
          list, CapacityGrid(list, decision.options).floor(hardware.capacity_bytes),
          decision.options);
      return decision;
    case Policy::best: {
      BestPlanner planner(list, hardware, options);
      planner.search_with(BestPlanner::useful_threads(list));
      BestPlanner::Choice choice = planner.choose(hardware.capacity_bytes);
      decision.plan = std::move(choice.plan);
      decision.options.prefetch = choice.prefetch;
      decision.options.offload = choice.offload;
      return decision;
    }
    case Policy::exact: {
      const Plan start = farthest_next_use_plan(list, hardware.capacity_bytes, options);
      ExactPlan exact = exact_plan(list, hardware.capacity_bytes, options, {.start = &start});
      decision.plan = std::move(exact.plan);
      decision.least_traffic_bytes = exact.bound_bytes;
      return decision;
    }
  }
  fail(ErrorKind::internal, "unknown policy");
}

Prediction simulate(const AccessList& list, const Decision& decision, Record record) {
  return simulate_as_planned(list, decision.plan, decision.hardware, decision.options, record);
}

Prediction predict(const AccessList& list, const Hardware& hardware, const PredictOptions& options,
                   Record record) {
  return simulate(list, decide(list, hardware, options), record);
}

}  // namespace strata
