// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/best.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/exchange.hpp"
#include "strata/predict/planning_memory.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t long_program = CapacityGrid::long_program;
constexpr std::size_t very_long_program = 50'000;  // beyond, plans for less are not tried
constexpr int exchanged_points = 8;                // per octave
constexpr std::size_t most_rates = 64;             // whose search is kept
constexpr std::size_t most_scheduled = 16;         // and scheduled plans

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
                         const PredictOptions& options, std::shared_ptr<SharedSearch> search)
    : list_(list),
      options_(options),
      grid_(list, options),
      tries_smaller_(options.tries_smaller_capacities &&
                     planned_length(list.program) <= very_long_program),
      packed_points_(planned_length(list.program) > long_program ? 4 : 32),
      farthest_(list, options),
      packer_(list, options, worth_in_bytes(list)),
      floor_(list),
      search_(search ? std::move(search) : std::make_shared<SharedSearch>()) {
  if (options.prefetch) {
    prefetches_ = {*options.prefetch};
  } else {
    prefetches_ = {Prefetch::soonest, Prefetch::listing, Prefetch::next_layer, Prefetch::none};
  }
  if (options.offload) {
    offloads_ = {*options.offload};
  } else {
    offloads_ = {Offload::look_ahead, Offload::on_demand};
  }
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
  rates_[now_] = {.key = key, .hardware = hardware, .compute_s = {}, .search = search_->at(key)};
  compute_times(list_.program, hardware, rates_[now_].compute_s);
}

bool BestPlanner::is_exchanging() const {
  return options_.objective == Objective::traffic && planned_length(list_.program) <= long_program;
}

double BestPlanner::transfer_cost_s(std::int64_t traffic_bytes) const {
  constexpr double share = 0.01;  // of the time that the channel is busy
  return share * static_cast<double>(traffic_bytes) / rates_[now_].hardware.bytes_per_s;
}

double BestPlanner::cost_s(const TriedPlan& tried) const {
  return tried.totals.time_s + transfer_cost_s(tried.traffic_bytes);
}

// A strict order, so that the result does not depend on the order of the search.
bool BestPlanner::is_better(const TriedPlan& a, const TriedPlan& b) const {
  const auto last = [](const TriedPlan& tried) {
    // Of equals the later offload and prefetch of their enumerations: the most usual ones.
    return std::tuple(-tried.key.capacity_bytes, tried.key.method, -static_cast<int>(tried.offload),
                      -static_cast<int>(tried.prefetch));
  };
  return options_.objective == Objective::time
             ? std::tuple(cost_s(a), a.traffic_bytes, last(a)) <
                   std::tuple(cost_s(b), b.traffic_bytes, last(b))
             : std::tuple(a.traffic_bytes, a.totals.time_s, last(a)) <
                   std::tuple(b.traffic_bytes, b.totals.time_s, last(b));
}

Plan BestPlanner::plan_for(const PlanKey& key) {
  const std::int64_t capacity = key.capacity_bytes;
  switch (key.method) {
    case PlanMethod::farthest: return farthest_.at(capacity);
    case PlanMethod::farthest_exchanged:
      return exchanged_plan(list_, farthest_.at(capacity), options_);
    case PlanMethod::packed: return packer_.at(capacity);
    case PlanMethod::packed_exchanged: return exchanged_plan(list_, packer_.at(capacity), options_);
  }
  fail(ErrorKind::internal, "unknown method of planning");
}

/// A plan with so much traffic that takes longer than this cannot be the best.
double BestPlanner::give_up_s(std::int64_t traffic_bytes) const {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  constexpr double more_rounding = 1 + 1e-12;
  if (!best_) return no_limit;
  if (options_.objective == Objective::time)
    return (cost_s(*best_) - transfer_cost_s(traffic_bytes)) * more_rounding;
  if (traffic_bytes < best_->traffic_bytes) return no_limit;
  return traffic_bytes == best_->traffic_bytes ? best_->totals.time_s : -1;
}

/// Null: the plan cannot be the best, however it is prefetched.
PlannedSteps* BestPlanner::schedule(const PlanKey& key, Offload offload) {
  const Rates& rates = rates_[now_];
  for (ScheduledPlan& known : scheduled_) {
    if (known.is_used && known.key.capacity_bytes == key.capacity_bytes &&
        known.key.method == key.method && known.offload == offload)
      return &known.planned;
  }
  Plan made;
  const bool is_farthest = key.method == PlanMethod::farthest;
  const bool is_packed = key.method == PlanMethod::packed;
  if (!is_farthest && !is_packed) made = plan_for(key);
  const Plan& plan = is_farthest ? farthest_.at(key.capacity_bytes)
                     : is_packed ? packer_.at(key.capacity_bytes)
                                 : made;
  floor_.assess(plan, rates.compute_s, rates.hardware.bytes_per_s);
  if (floor_.time_s() > give_up_s(floor_.traffic_bytes())) return nullptr;
  const bool is_shared = rates_.size() > 1;
  const std::size_t at = is_shared ? next_scheduled_++ % most_scheduled : 0;
  while (scheduled_.size() <= at) scheduled_.push_back({.planned = PlannedSteps(list_)});
  PredictOptions how = options_;
  how.offload = offload;
  how.prefetch = prefetches_.front();
  scheduled_[at].planned.schedule(plan, how, rates.compute_s, rates.hardware.bytes_per_s);
  scheduled_[at].key = key;
  scheduled_[at].offload = offload;
  scheduled_[at].is_used = is_shared;
  return &scheduled_[at].planned;
}

void BestPlanner::consider(std::int64_t point, PlanMethod method) {
  for (const Offload offload : offloads_) {
    if (!consider({point, method}, offload, prefetches_)) return;
    // Only farthest next use says when a value leaves on demand.
    if (method != PlanMethod::farthest) return;
  }
}

/// Whether another offload may still be better: not when no schedule of the plan can be the best,
/// nor when one takes no longer than the plan must.
bool BestPlanner::consider(const PlanKey& key, Offload offload,
                           std::span<const Prefetch> prefetches) {
  constexpr double rounding = 1e-8;
  const Rates& rates = rates_[now_];
  const double bytes_per_s = rates.hardware.bytes_per_s;
  PlannedSteps* planned = schedule(key, offload);
  if (planned == nullptr) return false;
  TriedPlan tried{.key = key, .offload = offload, .traffic_bytes = planned->traffic().total()};
  const auto least_with = [&](Prefetch prefetch) {
    return PlanFloor::time_of(*planned, prefetch, key.capacity_bytes, rates.compute_s, bytes_per_s);
  };
  const double least_s = least_with(Prefetch::soonest);
  for (const Prefetch prefetch : prefetches) {
    const double most_s = give_up_s(tried.traffic_bytes);
    if (least_s > most_s) return false;
    const bool is_late = prefetch == Prefetch::none || prefetch == Prefetch::next_layer;
    if (is_late && least_with(prefetch) > most_s) continue;
    if (planned->prefetch() != prefetch || goes_by_rates(prefetch))
      planned->set_prefetch(prefetch, rates.compute_s, bytes_per_s);
    tried.prefetch = prefetch;
    tried.totals = pass_.run(*planned, {key.capacity_bytes, bytes_per_s, options_.channel},
                             rates.compute_s, Record::totals, most_s);
    if (pass_.gave_up()) continue;
    if (!best_ || is_better(tried, *best_)) best_ = tried;
    if (tried.totals.time_s <= least_s * (1 + rounding)) return false;
  }
  return true;
}

void BestPlanner::consider_point(std::int64_t point) {
  consider(point, PlanMethod::farthest);
  if (grid_.is_on(point, packed_points_)) consider(point, PlanMethod::packed);
  if (!is_exchanging() || !grid_.is_on(point, exchanged_points)) return;
  consider(point, PlanMethod::farthest_exchanged);
  consider(point, PlanMethod::packed_exchanged);
}

/// Neither this capacity nor a smaller one can have a better plan than the one that was found.
bool BestPlanner::is_hopeless_up_to(std::int64_t point) {
  const Rates& rates = rates_[now_];
  const std::int64_t most = std::max(point, tolerated_bytes(point, options_));
  if (options_.objective == Objective::time)
    return floor_.time_at_s(most, rates.compute_s, rates.hardware.bytes_per_s) > cost_s(*best_);
  return is_exchanging() && grid_.is_on(point, exchanged_points) &&
         model_traffic_bound_at(list_.program, most) > best_->traffic_bytes;
}

struct BestPlanner::Searched {
  std::mutex mutex;
  std::int64_t next = 0;  ///< the capacity that is tried next; 0: there is none
  std::optional<TriedPlan> best;
};

std::size_t BestPlanner::useful_threads(const AccessList& list) {
  constexpr std::size_t most = 8;
  if (planned_length(list.program) <= long_program) return 1;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most);
}

/// Takes one capacity after the other. All threads know the best that any of them has found, so
/// that each gives up as early as if it were alone.
void BestPlanner::search_points(Searched& searched) {
  for (;;) {
    std::int64_t point = 0;
    {
      const std::lock_guard lock(searched.mutex);
      if (best_ && (!searched.best || is_better(*best_, *searched.best))) searched.best = best_;
      best_ = searched.best;
      point = searched.next;
      searched.next = point > 0 ? grid_.below(point) : 0;
    }
    if (point <= 0 || is_hopeless_up_to(point)) return;
    consider_point(point);
  }
}

/// Tries one schedule of a plan per octave. What is fast at one of them lets most of the others be
/// given up early, or not be tried at all.
void BestPlanner::probe_down_from(std::int64_t point) {
  const std::span<const Prefetch> first(prefetches_.data(), 1);
  while ((point = grid_.floor(point - 1, 1)) >= grid_.lowest_bytes()) {
    if (is_hopeless_up_to(point)) return;
    for (const PlanMethod method : {PlanMethod::farthest, PlanMethod::packed})
      consider({point, method}, offloads_.front(), first);
  }
}

/// The most likely best candidate comes first, so that the others give up early.
void BestPlanner::search_down_from(std::int64_t point) {
  best_.reset();
  consider(point, PlanMethod::farthest);
  if (is_exchanging())
    consider(grid_.floor(point, exchanged_points), PlanMethod::farthest_exchanged);
  if (!tries_smaller_) {
    consider(point, PlanMethod::packed);
    return;
  }
  consider(grid_.floor(point, packed_points_), PlanMethod::packed);
  probe_down_from(point);
  Searched searched;
  searched.next = point;
  searched.best = best_;
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads_; ++i) {
    // Where the system has no more threads, this one searches alone.
    others.push_back(std::async(std::launch::async | std::launch::deferred, [&] {
      BestPlanner other(list_, rates_[now_].hardware, options_);
      other.search_points(searched);
    }));
  }
  search_points(searched);
  for (std::future<void>& other : others) other.get();
  best_ = searched.best;
}

const TriedPlan& BestPlanner::best_at(std::int64_t capacity_bytes) {
  const std::int64_t point = grid_.floor(capacity_bytes);
  SharedSearch::SearchState& state = *rates_[now_].search;
  const std::lock_guard lock(state.mutex);
  std::vector<SharedSearch::BestAt>& known = state.best;
  // Below one row of everything a plan is for that capacity alone.
  const bool is_alone = point < grid_.lowest_bytes();
  if (is_alone || known.empty() || point < known.front().from_bytes || !tries_smaller_) {
    search_down_from(point);
    if (known.empty() && !is_alone) {
      known.push_back({point, *best_});
      state.searched_bytes = point;
    }
    return *best_;
  }
  best_ = known.back().tried;
  while (state.searched_bytes < point) {
    const std::int64_t next = grid_.above(state.searched_bytes);
    consider_point(next);
    state.searched_bytes = next;
    if (best_->key.capacity_bytes == next) known.push_back({next, *best_});
  }
  const auto after = std::upper_bound(known.begin(), known.end(), point,
                                      [](std::int64_t bytes, const SharedSearch::BestAt& entry) {
                                        return bytes < entry.from_bytes;
                                      });
  best_ = std::prev(after)->tried;
  return *best_;
}

}  // namespace strata
