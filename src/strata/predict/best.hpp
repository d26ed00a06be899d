// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/plan.hpp"
#include "strata/predict/simulate.hpp"

#include <map>
#include <utility>

namespace strata {

/// The policy `best`: makes plans in several ways, lays each over time and takes the fastest (or
/// the one that moves the least). A plan for a capacity is valid for any larger one, so it also
/// takes plans made for smaller capacities, on a fixed grid: more capacity is then never slower.
///
/// Remembers what it tried, so that the points of a sweep over capacities share the work.
class BestPlanner {
 public:
  /// `hardware` gives the rates; its capacity is not looked at.
  BestPlanner(const AccessList& list, const Hardware& hardware, const PredictOptions& options);

  /// The plan for a capacity. Simulate it with the plan's own capacity to get its time.
  const Plan& at(std::int64_t capacity_bytes);

 private:
  struct Tried {
    Plan plan;
    double time_s = 0;
    std::int64_t traffic_bytes = 0;
  };

  /// How many ways of planning are tried. Exchanges take milliseconds and are for traffic only:
  /// they do not make an iteration faster.
  enum class Effort : std::uint8_t { two_plans, exchanges };

  bool is_better(const Tried& a, const Tried& b) const;
  const Tried& tried_at(std::int64_t capacity_bytes, Effort effort);
  void consider(Tried& best, Plan plan);
  std::vector<std::int64_t> grid_below(std::int64_t capacity_bytes) const;

  const AccessList& list_;
  Hardware hardware_;
  PredictOptions options_;
  std::int64_t lowest_bytes_ = 0;       // where the grid begins
  std::int64_t enough_bytes_ = 0;       // where it ends: everything fits
  int points_per_octave_ = 0;           // 0: no grid, the program is too long
  std::vector<double> worth_of_bytes_;  // bytes that keeping each interval saves
  std::map<std::pair<std::int64_t, Effort>, Tried> tried_;  // by capacity
};

}  // namespace strata
