// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/capacity_grid.hpp"
#include "strata/predict/farthest_next_use.hpp"
#include "strata/predict/packing.hpp"
#include "strata/predict/plan_floor.hpp"
#include "strata/predict/shared_search.hpp"
#include "strata/predict/timed_pass.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace strata {

/// The policy `best`: makes plans by several methods, each for every capacity of a grid up to the
/// capacity asked for, simulates each with the capacity it was made for, under every prefetch and
/// offload that the options leave open, and takes the cheapest. The candidates at a capacity are
/// also candidates at every larger one: more capacity never costs more.
///
/// The cost of a plan is its time and, so that no plan doubles the traffic for a stall of
/// nanoseconds, a hundredth of the time that its transfers take. With Objective::traffic it is the
/// traffic, then the time.
///
/// Most simulations stop early, when the plan is sure to take longer than the best so far. For
/// rising capacities only new candidates are tried.
class BestPlanner {
 public:
  /// `hardware` gives the rates; its capacity is ignored. `search` is shared with other planners of
  /// the same list and options; none: this planner searches alone.
  BestPlanner(const AccessList& list, const Hardware& hardware, const PredictOptions& options,
              std::shared_ptr<SharedSearch> search = nullptr);

  /// A plan, and the prefetch and offload to simulate it with.
  struct Choice {
    Plan plan;
    Prefetch prefetch = Prefetch::soonest;
    Offload offload = Offload::look_ahead;
  };
  /// The best for a capacity. Simulate it with the plan's own capacity to get its time.
  Choice choose(std::int64_t capacity_bytes) {
    const TriedPlan best = best_at(capacity_bytes);
    return {plan_for(best.key), best.prefetch, best.offload};
  }
  /// Its totals, as simulate() returns them; for many capacities one after the other.
  const Prediction& totals_at(std::int64_t capacity_bytes) {
    return best_at(capacity_bytes).totals;
  }

  /// Other rates from now on.
  void set_rates(const Hardware& hardware);

  /// Searches with other threads beside this one. The result is the same.
  void search_with(std::size_t threads) { threads_ = threads; }
  /// How many are worth it: one, but all cores for long programs.
  static std::size_t useful_threads(const AccessList& list);

 private:
  struct Searched;  // what the threads of one search share
  struct Rates {
    RateKey key;
    Hardware hardware;
    std::vector<double> compute_s;  // of every step
    std::shared_ptr<SharedSearch::SearchState> search;
  };
  struct ScheduledPlan {  // kept for the other rates of a sweep
    PlanKey key;
    Offload offload = Offload::look_ahead;
    bool is_used = false;
    PlannedSteps planned;
  };

  Plan plan_for(const PlanKey& key);
  const TriedPlan& best_at(std::int64_t capacity_bytes);
  void search_down_from(std::int64_t point);
  void probe_down_from(std::int64_t point);
  void search_points(Searched& searched);
  bool is_hopeless_up_to(std::int64_t point);
  void consider_point(std::int64_t point);
  void consider(std::int64_t point, PlanMethod method);
  bool consider(const PlanKey& key, Offload offload, std::span<const Prefetch> prefetches);
  bool is_better(const TriedPlan& a, const TriedPlan& b) const;
  double transfer_cost_s(std::int64_t traffic_bytes) const;
  double cost_s(const TriedPlan& tried) const;
  double give_up_s(std::int64_t traffic_bytes) const;
  PlannedSteps* schedule(const PlanKey& key, Offload offload);
  bool is_exchanging() const;

  const AccessList& list_;
  PredictOptions options_;
  CapacityGrid grid_;
  bool tries_smaller_ = true;
  std::size_t threads_ = 1;
  int packed_points_ = 0;             // per octave, of the grid that costly plans are made on
  std::vector<Prefetch> prefetches_;  // to try, the most promising first
  std::vector<Offload> offloads_;     // the same
  FarthestNextUse farthest_;
  Packer packer_;
  PlanFloor floor_;
  TimedPass pass_;
  std::vector<Rates> rates_;
  std::size_t now_ = 0;  // among the rates
  std::shared_ptr<SharedSearch> search_;
  std::optional<TriedPlan> best_;  // of the search under way
  std::vector<ScheduledPlan> scheduled_;
  std::size_t next_scheduled_ = 0;
};

}  // namespace strata
