// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/sweep_program.hpp"

#include "strata/predict/best.hpp"
#include "strata/predict/farthest_next_use.hpp"
#include "strata/predict/timed_pass.hpp"
#include "strata/training/split.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

namespace strata {
namespace {

/// Of so many rates what was found last is remembered.
constexpr std::size_t most_rates = 64;

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

auto rates_of(const Hardware& hardware) {
  return std::tuple(hardware.bytes_per_s, hardware.type_1_flop_per_s, hardware.other_flop_per_s,
                    hardware.mac_is_one);
}

/// From a capacity on, for so many bytes more. Differences cannot overflow: both are above 0.
struct CapacityRange {
  std::int64_t first_bytes = 0;
  std::int64_t width_bytes = 0;  // 0: none
  bool holds(std::int64_t bytes) const {
    return bytes >= first_bytes && bytes - first_bytes < width_bytes;
  }
};

/// Different capacities often have the same plan. A sliced step holds less at less capacity, and
/// when a value leaves matters on demand only.
bool is_laid_alike(const Plan& a, const Plan& b, Offload offload) {
  if (!a.refetch_bytes.empty() || !b.refetch_bytes.empty()) return false;
  const bool is_on_demand = offload == Offload::on_demand;
  return std::equal(a.uses.begin(), a.uses.end(), b.uses.begin(),
                    [&](const UsePlan& one, const UsePlan& other) {
                      return one.place == other.place && one.stays == other.stays &&
                             (!is_on_demand || one.leaves_at == other.leaves_at);
                    });
}

/// Policies that plan by farthest next use: the plan depends on the capacity alone, and both plan
/// and pass say for which larger capacities they come out the same.
class FarthestSweep {
 public:
  FarthestSweep(const AccessList& list, const PredictOptions& options)
      : list_(list), options_(options), planner_(list, options), planned_(list) {}

  PointTotals at(const Hardware& hardware) {
    if (!plan_holds_.holds(hardware.capacity_bytes)) {
      plan_holds_ = {};
      const Plan& plan = planner_.at(hardware.capacity_bytes);
      plan_holds_ = {hardware.capacity_bytes, planner_.margin_bytes()};
      ++plan_number_;
      is_laid_ = is_laid_ && is_laid_alike(plan, laid_plan_, options_.offload);
    }
    Rates& rates = of_rates(hardware);
    if (rates.plan_number == plan_number_ && rates.same.holds(hardware.capacity_bytes))
      return rates.totals;
    if (!is_laid_ || (options_.prefetch == Prefetch::listing && laid_for_ != rates.hardware)) {
      laid_plan_ = planner_.plan();
      planned_.lay(laid_plan_, options_, rates.compute_s, hardware.bytes_per_s);
      is_laid_ = true;
      laid_for_ = rates.hardware;
    }
    rates.totals = totals_of(pass_.run(planned_, hardware, rates.compute_s, Record::totals));
    rates.same = {hardware.capacity_bytes, pass_.margin_bytes()};
    rates.plan_number = plan_number_;
    return rates.totals;
  }

 private:
  using RateKey = decltype(rates_of(Hardware{}));
  struct Rates {
    RateKey hardware;
    std::vector<double> compute_s;
    std::uint64_t plan_number = 0;
    CapacityRange same;
    PointTotals totals;
  };

  Rates& of_rates(const Hardware& hardware) {
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

  const AccessList& list_;
  PredictOptions options_;
  FarthestNextUse planner_;
  PlannedSteps planned_;
  TimedPass pass_;
  CapacityRange plan_holds_;
  std::uint64_t plan_number_ = 0;
  bool is_laid_ = false;
  Plan laid_plan_;
  RateKey laid_for_;
  std::vector<Rates> rates_;
  std::size_t last_ = 0;
};

}  // namespace

struct SweepProgram::State {
  State(const Program& program, const PredictOptions& how)
      : parts(how.granularity_bytes > 0 ? split_values(program, how.granularity_bytes) : Program{}),
        list(how.granularity_bytes > 0 ? parts : program),
        options(laid_over_time(how)) {
    if (options.policy == Policy::thesis || options.policy == Policy::belady)
      farthest.emplace(list, options);
  }

  // Rates that alternate cost the memory of what was tried, not the plans.
  PointTotals best_at(const Hardware& hardware) {
    if (!best) {
      best.emplace(list, hardware, options);
    } else if (rates_of(best_rates) != rates_of(hardware)) {
      best->set_rates(hardware);
    }
    best_rates = hardware;
    return totals_of(best->totals_at(hardware.capacity_bytes));
  }

  Program parts;  // of the program, when its values are cut
  AccessList list;
  PredictOptions options;
  std::optional<FarthestSweep> farthest;
  std::optional<BestPlanner> best;
  Hardware best_rates;
};

SweepProgram::SweepProgram(const Program& program, const PredictOptions& options)
    : state_(std::make_unique<State>(program, options)) {}

SweepProgram::~SweepProgram() = default;
SweepProgram::SweepProgram(SweepProgram&&) noexcept = default;
SweepProgram& SweepProgram::operator=(SweepProgram&&) noexcept = default;

PointTotals SweepProgram::at(const Hardware& hardware) {
  check(hardware);
  if (state_->farthest) return state_->farthest->at(hardware);
  if (state_->options.policy == Policy::best) return state_->best_at(hardware);
  return totals_of(predict(state_->list, hardware, state_->options, Record::totals));
}

}  // namespace strata
