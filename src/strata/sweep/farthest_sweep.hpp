// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/capacity_grid.hpp"
#include "strata/predict/farthest_next_use.hpp"
#include "strata/predict/timed_pass.hpp"
#include "strata/sweep/sweep_program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

PointTotals totals_of(const Prediction& all);

/// From a capacity on, for so many bytes more. Differences cannot overflow: both are above 0.
struct CapacityRange {
  std::int64_t first_bytes = 0;
  std::int64_t width_bytes = 0;  // 0: none
  bool holds(std::int64_t bytes) const {
    return bytes >= first_bytes && bytes - first_bytes < width_bytes;
  }
};

/// Policies that plan by farthest next use: the plan depends on the capacity alone, and both plan
/// and pass say for which larger capacities they come out the same.
class FarthestSweep {
 public:
  FarthestSweep(const AccessList& list, const PredictOptions& options)
      : list_(list),
        options_(options),
        grid_(list, options),
        planner_(list, options),
        planned_(list) {}

  /// Errors (input) as empty_plan.
  PointTotals at(const Hardware& hardware);

 private:
  struct Rates {
    RateKey hardware;
    std::vector<double> compute_s;
    std::uint64_t plan_number = 0;
    CapacityRange same;
    PointTotals totals;
  };

  void plan_for(std::int64_t capacity_bytes);
  void schedule_for(const Rates& rates, double bytes_per_s);
  Rates& of_rates(const Hardware& hardware);

  const AccessList& list_;
  PredictOptions options_;
  CapacityGrid grid_;
  FarthestNextUse planner_;
  PlannedSteps planned_;
  TimedPass pass_;
  CapacityRange plan_holds_;
  std::uint64_t plan_number_ = 0;
  bool is_scheduled_ = false;
  Plan scheduled_plan_;
  RateKey scheduled_for_;
  std::vector<Rates> rates_;
  std::size_t last_ = 0;
};

}  // namespace strata
