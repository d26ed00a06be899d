// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"
#include "strata/predict/planned_steps.hpp"

#include <cstdint>
#include <vector>

/// Lower bounds on the time of one plan, or of all plans for a capacity. They cost a fraction of a
/// simulation.
namespace strata {

/// A step streams what its plan does not hold, and lasts at least as long as its stream.
class PlanFloor {
 public:
  explicit PlanFloor(const AccessList& list);

  /// All bytes that the plan moves, and a time that it takes at least.
  void assess(const Plan& plan, const std::vector<double>& compute_s, double bytes_per_s);
  std::int64_t traffic_bytes() const { return traffic_bytes_; }
  double time_s() const { return time_s_; }

  /// A time that a scheduled plan takes at least with that capacity under a prefetch; `soonest`
  /// stands for any. Offloading on demand leaves no more room than looking ahead does.
  static double time_of(const PlannedSteps& planned, Prefetch prefetch, std::int64_t capacity_bytes,
                        const std::vector<double>& compute_s, double bytes_per_s);

  /// A time that any plan made for this capacity takes at least; falls as the capacity grows.
  double time_at_s(std::int64_t capacity_bytes, const std::vector<double>& compute_s,
                   double bytes_per_s) const;

 private:
  struct Slices {  // what slicing_of() asks, once for all capacities
    std::int64_t whole_bytes = 0;
    std::int64_t rows_bytes = 0;
    std::int64_t reread_bytes = 0;
  };
  std::int64_t least_streamed_bytes(StepId step, std::int64_t capacity_bytes) const;

  const AccessList& list_;
  std::vector<Slices> slices_;               // by step
  std::vector<std::int64_t> touched_bytes_;  // by step: what moves if it is streamed
  std::vector<std::uint8_t> is_dirty_;       // by value
  std::int64_t traffic_bytes_ = 0;
  double time_s_ = 0;
};

}  // namespace strata
