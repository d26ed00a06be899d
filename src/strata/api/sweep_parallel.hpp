// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/parallel.hpp"
#include "strata/api/sweep_state.hpp"
#include "strata/sweep/run_points.hpp"

#include <memory>

namespace strata {

/// Points of a sweep over many devices, on one thread. What differs in its strategy alone shares
/// what is known of the network on its cluster.
class ParallelSweepWorker : public PointWorker {
 public:
  explicit ParallelSweepWorker(const Sweep::State& state);
  PointResult at(std::int64_t point) override;

 private:
  /// Makes the model of the point's network, sizes and cluster unless it is at hand.
  void enter(std::int64_t point);
  /// What the axes say; without an axis of the strategy, the fastest that fits.
  StrategyTime time_at(std::int64_t point);
  Strategy strategy_at(std::int64_t point) const;

  const Sweep::State& state_;
  bool has_parts_ = false;  // an axis is of the strategy
  std::int64_t group_ = -1;
  std::optional<Error> problem_;  // of every point of the group
  Cluster cluster_;
  std::unique_ptr<ParallelModel> model_;
};

}  // namespace strata
