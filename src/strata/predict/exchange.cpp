// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/exchange.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr int most_rounds = 8;

class Exchange {
 public:
  Exchange(const AccessList& list, const Plan& plan, const PredictOptions& options)
      : list_(list), packing_(list), loss_(plan.uses.size(), unknown) {
    packing_.start(plan.capacity_bytes, options);
    for (std::uint32_t u = 0; u < plan.uses.size(); ++u) {
      if (!packing_.is_possible(u)) continue;
      intervals_.push_back(u);
      if (plan.uses[u].stays) packing_.keep(u);
    }
    std::stable_sort(intervals_.begin(), intervals_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return list_.bytes_of(a) > list_.bytes_of(b);
    });
  }

  Plan run() && {
    for (int round = 0; round < most_rounds; ++round) {
      bool is_better = fill();
      for (const std::uint32_t use : intervals_) {
        if (!packing_.stays(use) && exchange_for(use)) is_better = true;
      }
      if (!is_better) break;
    }
    return packing_.plan();
  }

 private:
  static constexpr std::int64_t unknown = -1;

  std::int64_t traffic_of(std::uint32_t use) const {
    return traffic_of_value(list_, packing_.plan(), list_.program.uses[use].value).total();
  }

  // What moves less when the interval is kept, or no longer.
  std::int64_t change(std::uint32_t use, void (Packing::*what)(std::uint32_t)) {
    const std::int64_t before = traffic_of(use);
    (packing_.*what)(use);
    for (std::uint32_t u = list_.first_of[list_.program.uses[use].value]; u != no_use;
         u = list_.next[u])
      loss_[u] = unknown;
    return before - traffic_of(use);
  }
  std::int64_t keep(std::uint32_t use) { return change(use, &Packing::keep); }
  std::int64_t release(std::uint32_t use) { return change(use, &Packing::release); }

  // How much more traffic there would be without the interval; kept until its value changes.
  std::int64_t loss_without(std::uint32_t use) {
    if (loss_[use] == unknown) {
      Plan& plan = packing_.plan_for_trial();
      const std::int64_t before = traffic_of(use);
      plan.uses[use].stays = false;
      loss_[use] = traffic_of(use) - before;
      plan.uses[use].stays = true;
    }
    return loss_[use];
  }

  bool fill() {
    bool is_better = false;
    for (const std::uint32_t use : intervals_) {
      if (packing_.stays(use) || !packing_.fits(use)) continue;
      keep(use);
      is_better = true;
    }
    return is_better;
  }

  // The kept interval in that step whose release costs the least per byte of room.
  std::uint32_t cheapest_in(StepId step, std::uint32_t except) {
    std::uint32_t cheapest = no_use;
    double least_cost = 0;
    for (const std::uint32_t use : intervals_) {
      if (!packing_.stays(use) || !packing_.takes_room_in(use, step) ||
          list_.program.uses[use].value == list_.program.uses[except].value)
        continue;
      const double cost =
          static_cast<double>(loss_without(use)) / static_cast<double>(list_.bytes_of(use));
      if (cheapest != no_use && cost >= least_cost) continue;
      cheapest = use;
      least_cost = cost;
    }
    return cheapest;
  }

  // Keeps `wanted` in the place of others; takes everything back when that moves more.
  bool exchange_for(std::uint32_t wanted) {
    const std::int64_t most_gain = 2 * list_.bytes_of(wanted);
    std::int64_t gain = 0;
    released_.clear();
    kept_.clear();
    for (StepId step = packing_.shortage(wanted); step != never; step = packing_.shortage(wanted)) {
      const std::uint32_t victim = cheapest_in(step, wanted);
      if (victim == no_use) return undo();
      gain += release(victim);
      released_.push_back(victim);
      if (gain + most_gain <= 0) return undo();
    }
    gain += keep(wanted);
    kept_.push_back(wanted);
    std::stable_sort(released_.begin(), released_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return list_.bytes_of(a) > list_.bytes_of(b);
    });
    for (const std::uint32_t use : released_) {
      if (!packing_.fits(use)) continue;
      gain += keep(use);
      kept_.push_back(use);
    }
    return gain > 0 || undo();
  }

  bool undo() {
    for (const std::uint32_t use : kept_) release(use);
    for (const std::uint32_t use : released_) keep(use);
    return false;
  }

  const AccessList& list_;
  Packing packing_;
  std::vector<std::uint32_t> intervals_;  // that can be kept, the largest first
  std::vector<std::uint32_t> released_;   // in the exchange under way
  std::vector<std::uint32_t> kept_;
  std::vector<std::int64_t> loss_;  // by use
};

}  // namespace

Plan exchanged_plan(const AccessList& list, const Plan& plan, const PredictOptions& options) {
  return Exchange(list, plan, options).run();
}

}  // namespace strata
