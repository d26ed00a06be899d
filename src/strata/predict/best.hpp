// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/farthest_next_use.hpp"
#include "strata/predict/packing.hpp"
#include "strata/predict/timed_pass.hpp"

#include <map>
#include <utility>
#include <vector>

namespace strata {

/// The policy `best`: makes plans in several ways, lays each over time and takes the fastest (or
/// the one that moves the least). A plan for a capacity is valid for any larger one, so it also
/// takes plans made for smaller capacities, on a fixed grid: more capacity is then never slower.
///
/// Remembers what it tried, so that the points of a sweep over capacities share the work. Most
/// plans are not laid over time to the end: it is soon clear that they take longer than the best so
/// far.
class BestPlanner {
 public:
  /// `hardware` gives the rates; its capacity is not looked at.
  BestPlanner(const AccessList& list, const Hardware& hardware, const PredictOptions& options);

  /// The plan for a capacity. Simulate it with the plan's own capacity to get its time.
  Plan at(std::int64_t capacity_bytes);
  /// Only what it comes to, as simulate() would tell it; for many capacities one after the other.
  const Prediction& totals_at(std::int64_t capacity_bytes);

  /// Other rates from now on. Plans that were made stay.
  void set_rates(const Hardware& hardware);

 private:
  /// The ways of planning. Exchanges take milliseconds and are for traffic only: they do not make
  /// an iteration faster.
  enum class Way : std::uint8_t { farthest_exchanged, farthest, packed_exchanged, packed };
  using Key = std::pair<std::int64_t, Way>;  // capacity and way

  struct Tried {
    Prediction totals;  ///< when it gave up, the time is only the least that it takes
    std::int64_t traffic_bytes = 0;
    bool gave_up = false;
  };

  bool is_better(const Tried& a, const Tried& b) const;
  Plan plan_for(const Key& key);
  const PlannedSteps& laid(const Key& key, bool is_on_grid);
  void consider(const Key& key, bool is_on_grid);
  std::vector<std::int64_t> grid_below(std::int64_t capacity_bytes) const;
  const Key& best_key(std::int64_t capacity_bytes);

  const AccessList& list_;
  Hardware hardware_;
  PredictOptions options_;
  std::int64_t lowest_bytes_ = 0;       // where the grid begins
  std::int64_t enough_bytes_ = 0;       // where it ends: everything fits
  int points_per_octave_ = 0;           // 0: no grid, the program is too long
  std::vector<double> worth_of_bytes_;  // bytes that keeping each interval saves
  std::vector<double> compute_s_;       // of every step
  FarthestNextUse farthest_;
  Packer packer_;
  TimedPass pass_;
  PlannedSteps planned_;              // of what is not kept
  bool is_sweeping_ = false;          // one plan alone keeps nothing: memory costs time
  std::map<Key, PlannedSteps> kept_;  // on the grid, for programs that are not long
  std::map<Key, Tried> tried_;        // on the grid, at these rates
  std::map<Key, Tried> tried_here_;   // at the capacity asked for last
  const Tried* best_ = nullptr;       // of the capacity under way
  Key best_key_;
};

}  // namespace strata
