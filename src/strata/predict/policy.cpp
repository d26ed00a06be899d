// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/policy.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/best.hpp"
#include "strata/predict/plan.hpp"

#include <cmath>

namespace strata {
namespace {

void check(const Hardware& hardware) {
  const auto is_rate = [](double rate) { return std::isfinite(rate) && rate > 0; };
  if (hardware.capacity_bytes <= 0)
    fail(ErrorKind::input, "the on-chip capacity must be more than 0 bytes, got {}",
         hardware.capacity_bytes);
  if (!is_rate(hardware.bytes_per_s))
    fail(ErrorKind::input, "the off-chip bandwidth must be a number above 0, got {}",
         hardware.bytes_per_s);
  for (const double rate : {hardware.type_1_flop_per_s, hardware.other_flop_per_s}) {
    if (!is_rate(rate))
      fail(ErrorKind::input, "the throughput must be a number above 0, got {}", rate);
  }
}

}  // namespace

Prediction predict(const AccessList& list, const Hardware& hardware, const PredictOptions& options,
                   Record record) {
  check(hardware);
  PredictOptions chosen = options;
  switch (options.policy) {
    case Policy::belady:
      chosen.prefetch = Prefetch::none;
      chosen.offload = Offload::on_demand;
      [[fallthrough]];
    case Policy::thesis:
      return simulate(list, farthest_next_use_plan(list, hardware.capacity_bytes, chosen), hardware,
                      chosen, record);
    case Policy::best: {
      BestPlanner planner(list, hardware, chosen);
      const Plan& plan = planner.at(hardware.capacity_bytes);
      Hardware used = hardware;
      used.capacity_bytes = plan.capacity_bytes;
      return simulate(list, plan, used, chosen, record);
    }
    case Policy::exact: break;
  }
  fail(ErrorKind::environment, "this build of Strata has no solver for --policy exact");
}

}  // namespace strata
