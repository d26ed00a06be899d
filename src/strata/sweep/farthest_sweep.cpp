// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/farthest_sweep.hpp"

#include <algorithm>

namespace strata {
namespace {

/// The last result is kept for so many sets of rates.
constexpr std::size_t most_rates = 64;

/// Different capacities often have the same plan. A sliced step holds less at less capacity, and
/// when a value leaves matters on demand only.
bool have_same_schedule(const Plan& a, const Plan& b, std::optional<Offload> offload) {
  if (!a.refetch_bytes.empty() || !b.refetch_bytes.empty()) return false;
  const bool is_on_demand = offload == Offload::on_demand;
  return std::equal(a.uses.begin(), a.uses.end(), b.uses.begin(),
                    [&](const UsePlan& one, const UsePlan& other) {
                      return one.residency == other.residency && one.stays == other.stays &&
                             (!is_on_demand || one.leaves_at == other.leaves_at);
                    });
}

}  // namespace

PointTotals totals_of(const Prediction& all) {
  return {.time_s = all.time_s,
          .compute_s = all.compute_s,
          .stall_s = all.stall_s,
          .drain_s = all.drain_s,
          .in_bytes = all.in_bytes,
          .out_bytes = all.out_bytes,
          .refetch_bytes = all.refetch_bytes,
          .peak_occupied_bytes = all.peak_occupied_bytes};
}

void FarthestSweep::plan_for(std::int64_t capacity_bytes) {
  if (plan_holds_.holds(capacity_bytes)) return;
  plan_holds_ = {};
  const Plan& plan = planner_.at(capacity_bytes);
  plan_holds_ = {capacity_bytes, planner_.margin_bytes()};
  ++plan_number_;
  is_scheduled_ = is_scheduled_ && have_same_schedule(plan, scheduled_plan_, options_.offload);
}

void FarthestSweep::schedule_for(const Rates& rates, double bytes_per_s) {
  if (is_scheduled_ && (!goes_by_rates(planned_.prefetch()) || scheduled_for_ == rates.hardware))
    return;
  if (is_scheduled_) {
    planned_.set_prefetch(planned_.prefetch(), rates.compute_s, bytes_per_s);
  } else {
    planner_.swap_plan(scheduled_plan_);
    planned_.schedule(scheduled_plan_, options_, rates.compute_s, bytes_per_s);
  }
  is_scheduled_ = true;
  scheduled_for_ = rates.hardware;
}

PointTotals FarthestSweep::at(const Hardware& hardware) {
  const std::int64_t capacity_bytes = grid_.floor(hardware.capacity_bytes);
  plan_for(capacity_bytes);
  Rates& rates = of_rates(hardware);
  if (rates.plan_number == plan_number_ && rates.same.holds(capacity_bytes)) return rates.totals;
  schedule_for(rates, hardware.bytes_per_s);
  const PassLimits limits{capacity_bytes, hardware.bytes_per_s, options_.channel};
  rates.totals = totals_of(pass_.run(planned_, limits, rates.compute_s, Record::totals));
  rates.same = {capacity_bytes, pass_.margin_bytes()};
  rates.plan_number = plan_number_;
  return rates.totals;
}

FarthestSweep::Rates& FarthestSweep::of_rates(const Hardware& hardware) {
  const RateKey key = rates_of(hardware);
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    Rates& known = rates_[(last_ + i) % rates_.size()];
    if (known.hardware != key) continue;
    last_ = (last_ + i) % rates_.size();
    return known;
  }
  if (rates_.size() < most_rates) {
    last_ = rates_.size();
    rates_.emplace_back();
  } else {
    last_ = (last_ + 1) % rates_.size();
  }
  Rates& added = rates_[last_];
  added.hardware = key;
  added.plan_number = 0;
  compute_times(list_.program, hardware, added.compute_s);
  return added;
}

}  // namespace strata
