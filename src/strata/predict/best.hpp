// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/best_found.hpp"
#include "strata/predict/capacity_grid.hpp"
#include "strata/predict/farthest_next_use.hpp"
#include "strata/predict/packing.hpp"
#include "strata/predict/plan_floor.hpp"
#include "strata/predict/timed_pass.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace strata {

/// The policy `best`: makes plans in several ways, each for every capacity of a grid that is not
/// above the one asked for, lays each over time with the capacity it was made for, and takes the
/// fastest (or the one that moves the least). What it chooses among at a capacity it also chooses
/// among at every larger one: more capacity is never slower.
///
/// Most plans are not laid over time to the end: it is soon clear that they take longer than the
/// best so far. For capacities that rise, only what is new is tried.
class BestPlanner {
 public:
  /// `hardware` gives the rates; its capacity is not looked at. `found` is what others find who
  /// plan for the same list under the same options at the same time; none: nobody does.
  BestPlanner(const AccessList& list, const Hardware& hardware, const PredictOptions& options,
              std::shared_ptr<BestFound> found = nullptr);

  /// The plan for a capacity. Simulate it with the plan's own capacity to get its time.
  Plan at(std::int64_t capacity_bytes) { return plan_for(best_at(capacity_bytes).key); }
  /// Only what it comes to, as simulate() would tell it; for many capacities one after the other.
  const Prediction& totals_at(std::int64_t capacity_bytes) {
    return best_at(capacity_bytes).totals;
  }

  /// Other rates from now on.
  void set_rates(const Hardware& hardware);

 private:
  struct Rates {
    RateKey key;
    Hardware hardware;
    std::vector<double> compute_s;  // of every step
    std::shared_ptr<BestFound::Chain> chain;
  };
  struct Laid {  // a plan that was laid flat last, for the other rates of a sweep
    PlanKey key;
    bool is_used = false;
    PlannedSteps planned;
  };

  Plan plan_for(const PlanKey& key);
  const TriedPlan& best_at(std::int64_t capacity_bytes);
  void search_down_from(std::int64_t point);
  bool is_hopeless_up_to(std::int64_t point);
  void consider_point(std::int64_t point);
  void consider(std::int64_t point, PlanWay way);
  bool is_better(const TriedPlan& a, const TriedPlan& b) const;
  double give_up_s(std::int64_t traffic_bytes) const;
  const PlannedSteps* lay(const PlanKey& key);
  bool is_exchanging() const;

  const AccessList& list_;
  PredictOptions options_;
  CapacityGrid grid_;
  bool tries_smaller_ = true;
  int packed_points_ = 0;  // per octave, of the grid that costly plans are made on
  FarthestNextUse farthest_;
  Packer packer_;
  PlanFloor floor_;
  TimedPass pass_;
  std::vector<Rates> rates_;
  std::size_t now_ = 0;  // among the rates
  std::shared_ptr<BestFound> found_;
  std::optional<TriedPlan> best_;  // of the search under way
  std::vector<Laid> laid_;
  std::size_t next_laid_ = 0;
};

}  // namespace strata
