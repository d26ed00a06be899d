// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/best.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/exchange.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t long_program = 5'000;         // steps: beyond, fewer plans are packed
constexpr std::size_t very_long_program = 200'000;  // beyond, plans for less are not tried
constexpr int exchanged_points = 8;                 // per octave
constexpr std::size_t most_rates = 64;              // that are remembered
constexpr std::size_t most_laid = 8;                // and plans

/// What keeping the interval that begins at each use saves: its read, and a share of the write that
/// is saved when all intervals of that version stay.
std::vector<double> worth_in_bytes(const AccessList& list) {
  const Program& program = list.program;
  std::vector<double> worth(program.uses.size(), 0);
  std::vector<std::uint32_t> version;  // intervals since the last write that take room
  for (std::uint32_t first = 0; first < program.uses.size(); ++first) {
    if (list.previous[first] != no_use) continue;  // the first use of each value
    bool is_dirty = false;
    version.clear();
    const auto close = [&] {
      for (const std::uint32_t u : version) {
        const double share = is_dirty ? 1.0 / static_cast<double>(version.size()) : 0;
        worth[u] = static_cast<double>(list.bytes_of(u)) * (1 + share);
      }
      version.clear();
    };
    for (std::uint32_t u = first; u != no_use; u = list.next[u]) {
      if (program.uses[u].writes) {
        close();
        is_dirty = true;
      }
      if (list.is_reused(u)) version.push_back(u);
    }
    if (program.values[program.uses[first].value].is_result) {
      // The last version is written anyway.
      for (const std::uint32_t u : version) worth[u] = static_cast<double>(list.bytes_of(u));
    } else {
      close();
    }
  }
  return worth;
}

}  // namespace

BestPlanner::BestPlanner(const AccessList& list, const Hardware& hardware,
                         const PredictOptions& options, std::shared_ptr<BestFound> found)
    : list_(list),
      options_(options),
      grid_(list, options),
      tries_smaller_(options.tries_smaller_capacities &&
                     list.program.steps.size() <= very_long_program),
      packed_points_(list.program.steps.size() > long_program ? 16 : 32),
      farthest_(list, options),
      packer_(list, options, worth_in_bytes(list)),
      floor_(list),
      found_(found ? std::move(found) : std::make_shared<BestFound>()) {
  set_rates(hardware);
}

void BestPlanner::set_rates(const Hardware& hardware) {
  const RateKey key = rates_of(hardware);
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (rates_[i].key != key) continue;
    now_ = i;
    return;
  }
  now_ = rates_.size() < most_rates ? rates_.size() : (now_ + 1) % rates_.size();
  if (now_ == rates_.size()) rates_.emplace_back();
  rates_[now_] = {.key = key, .hardware = hardware, .compute_s = {}, .chain = found_->at(key)};
  compute_times(list_.program, hardware, rates_[now_].compute_s);
}

bool BestPlanner::is_exchanging() const {
  return options_.objective == Objective::traffic && list_.program.steps.size() <= long_program;
}

// A strict order, whatever the order in which they were tried.
bool BestPlanner::is_better(const TriedPlan& a, const TriedPlan& b) const {
  const double a_s = a.totals.time_s;
  const double b_s = b.totals.time_s;
  const auto last = [](const TriedPlan& tried) {
    return std::pair(-tried.key.capacity_bytes, tried.key.way);
  };
  return options_.objective == Objective::time
             ? std::tuple(a_s, a.traffic_bytes, last(a)) < std::tuple(b_s, b.traffic_bytes, last(b))
             : std::tuple(a.traffic_bytes, a_s, last(a)) <
                   std::tuple(b.traffic_bytes, b_s, last(b));
}

Plan BestPlanner::plan_for(const PlanKey& key) {
  const std::int64_t capacity = key.capacity_bytes;
  switch (key.way) {
    case PlanWay::farthest: return farthest_.at(capacity);
    case PlanWay::farthest_exchanged:
      return exchanged_plan(list_, farthest_.at(capacity), options_);
    case PlanWay::packed: return packer_.at(capacity);
    case PlanWay::packed_exchanged: return exchanged_plan(list_, packer_.at(capacity), options_);
  }
  fail(ErrorKind::internal, "unknown way of planning");
}

/// Beyond this a plan that moves so much cannot be the best.
double BestPlanner::give_up_s(std::int64_t traffic_bytes) const {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  if (!best_) return no_limit;
  if (options_.objective == Objective::time) return best_->totals.time_s;
  if (traffic_bytes < best_->traffic_bytes) return no_limit;
  return traffic_bytes == best_->traffic_bytes ? best_->totals.time_s : -1;
}

/// Null: not worth it. Where eligibility goes by rates, what was laid holds for no other rates.
const PlannedSteps* BestPlanner::lay(const PlanKey& key) {
  const Rates& rates = rates_[now_];
  for (const Laid& laid : laid_) {
    if (laid.is_used && laid.key.capacity_bytes == key.capacity_bytes && laid.key.way == key.way)
      return &laid.planned;
  }
  Plan made;
  const bool is_farthest = key.way == PlanWay::farthest;
  const bool is_packed = key.way == PlanWay::packed;
  if (!is_farthest && !is_packed) made = plan_for(key);
  const Plan& plan = is_farthest ? farthest_.at(key.capacity_bytes)
                     : is_packed ? packer_.at(key.capacity_bytes)
                                 : made;
  floor_.look_at(plan, rates.compute_s, rates.hardware.bytes_per_s);
  if (floor_.time_s() > give_up_s(floor_.traffic_bytes())) return nullptr;
  const bool is_shared = rates_.size() > 1 && options_.prefetch != Prefetch::listing;
  const std::size_t at = is_shared ? next_laid_++ % most_laid : 0;
  while (laid_.size() <= at) laid_.push_back({.key = {}, .planned = PlannedSteps(list_)});
  laid_[at].planned.lay(plan, options_, rates.compute_s, rates.hardware.bytes_per_s);
  laid_[at].key = key;
  laid_[at].is_used = is_shared;
  return &laid_[at].planned;
}

void BestPlanner::consider(std::int64_t point, PlanWay way) {
  const Rates& rates = rates_[now_];
  const PlannedSteps* planned = lay({point, way});
  if (planned == nullptr) return;
  Hardware hardware = rates.hardware;
  hardware.capacity_bytes = point;
  TriedPlan tried{.key = {point, way}, .totals = {}, .traffic_bytes = planned->traffic_bytes()};
  tried.totals = pass_.run(*planned, hardware, rates.compute_s, Record::totals,
                           give_up_s(tried.traffic_bytes));
  if (pass_.gave_up() || (best_ && !is_better(tried, *best_))) return;
  best_ = std::move(tried);
}

void BestPlanner::consider_point(std::int64_t point) {
  consider(point, PlanWay::farthest);
  if (grid_.is_on(point, packed_points_)) consider(point, PlanWay::packed);
  if (!is_exchanging() || !grid_.is_on(point, exchanged_points)) return;
  consider(point, PlanWay::farthest_exchanged);
  consider(point, PlanWay::packed_exchanged);
}

/// Neither this capacity nor a smaller one can have a better plan than the one that was found.
bool BestPlanner::is_hopeless_up_to(std::int64_t point) {
  const Rates& rates = rates_[now_];
  const std::int64_t most = std::max(point, tolerated_bytes(point, options_));
  if (options_.objective == Objective::time)
    return floor_.time_at_s(most, rates.compute_s, rates.hardware.bytes_per_s) >
           best_->totals.time_s;
  return is_exchanging() && grid_.is_on(point, exchanged_points) &&
         model_traffic_bound_at(list_.program, most) > best_->traffic_bytes;
}

/// What is most likely the best comes first: it saves the most work.
void BestPlanner::search_down_from(std::int64_t point) {
  best_.reset();
  consider(point, PlanWay::farthest);
  if (is_exchanging()) consider(grid_.floor(point, exchanged_points), PlanWay::farthest_exchanged);
  if (!tries_smaller_) {
    consider(point, PlanWay::packed);
    return;
  }
  consider(grid_.floor(point, packed_points_), PlanWay::packed);
  for (std::int64_t at = point; at > 0 && !is_hopeless_up_to(at); at = grid_.below(at))
    consider_point(at);
}

const TriedPlan& BestPlanner::best_at(std::int64_t capacity_bytes) {
  const std::int64_t point = grid_.floor(capacity_bytes);
  BestFound::Chain& chain = *rates_[now_].chain;
  const std::lock_guard lock(chain.mutex);
  std::vector<BestFound::Winner>& winners = chain.winners;
  if (winners.empty() || point < winners.front().from_bytes || !tries_smaller_) {
    search_down_from(point);
    if (winners.empty()) {
      winners.push_back({point, *best_});
      chain.covered_bytes = point;
    }
    return *best_;
  }
  best_ = winners.back().tried;
  while (chain.covered_bytes < point) {
    const std::int64_t next = grid_.above(chain.covered_bytes);
    consider_point(next);
    chain.covered_bytes = next;
    if (best_->key.capacity_bytes == next) winners.push_back({next, *best_});
  }
  const auto after = std::upper_bound(winners.begin(), winners.end(), point,
                                      [](std::int64_t bytes, const BestFound::Winner& winner) {
                                        return bytes < winner.from_bytes;
                                      });
  best_ = std::prev(after)->tried;
  return *best_;
}

}  // namespace strata
