// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/best.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t long_program = 5'000;         // steps: beyond, the grid is coarser
constexpr std::size_t very_long_program = 200'000;  // beyond, there is none

/// The largest m·2^e with `points` ≤ m < 2·points that is not above `bytes`.
std::int64_t grid_floor(std::int64_t bytes, int points) {
  const auto width = [](std::int64_t number) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
  };
  const int digits = width(bytes) - width(points);
  return digits <= 0 ? bytes : (bytes >> digits) << digits;
}

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
                         const PredictOptions& options)
    : list_(list),
      options_(options),
      worth_of_bytes_(worth_in_bytes(list)),
      farthest_(list, options),
      packer_(list, options, worth_of_bytes_),
      planned_(list) {
  set_rates(hardware);
  for (const StepNeed& need : list.needs) {
    const double least = static_cast<double>(need.least_bytes) / (1 + options.minimum_slack);
    lowest_bytes_ =
        std::max(lowest_bytes_, options.strict_minimum ? static_cast<std::int64_t>(std::ceil(least))
                                                       : need.rows_bytes);
  }
  Count all;
  for (const Value& value : list.program.values) all += value.bytes;
  enough_bytes_ = std::max<std::int64_t>(all.value(), 1);
  const std::size_t steps = list.program.steps.size();
  points_per_octave_ = steps > very_long_program ? 0 : steps > long_program ? 4 : 8;
}

void BestPlanner::set_rates(const Hardware& hardware) {
  hardware_ = hardware;
  compute_times(list_.program, hardware, compute_s_);
  tried_.clear();
  tried_here_.clear();
  if (options_.prefetch == Prefetch::listing) kept_.clear();
}

bool BestPlanner::is_better(const Tried& a, const Tried& b) const {
  const double a_s = a.totals.time_s;
  const double b_s = b.totals.time_s;
  return options_.objective == Objective::time
             ? std::tie(a_s, a.traffic_bytes) < std::tie(b_s, b.traffic_bytes)
             : std::tie(a.traffic_bytes, a_s) < std::tie(b.traffic_bytes, b_s);
}

Plan BestPlanner::plan_for(const Key& key) {
  switch (key.second) {
    case Way::farthest: return farthest_.at(key.first);
    case Way::farthest_exchanged: return exchanged_plan(list_, farthest_.at(key.first), options_);
    case Way::packed: return packer_.at(key.first);
    case Way::packed_exchanged: return exchanged_plan(list_, packer_.at(key.first), options_);
  }
  fail(ErrorKind::internal, "unknown way of planning");
}

const PlannedSteps& BestPlanner::laid(const Key& key, bool is_on_grid) {
  const bool is_kept = is_on_grid && is_sweeping_ && list_.program.steps.size() <= long_program;
  const auto known = kept_.find(key);
  if (known != kept_.end()) return known->second;
  const Plan plan = plan_for(key);
  PlannedSteps& planned =
      is_kept ? kept_.emplace(key, PlannedSteps(list_)).first->second : planned_;
  planned.lay(plan, options_, compute_s_, hardware_.bytes_per_s);
  return planned;
}

void BestPlanner::consider(const Key& key, bool is_on_grid) {
  std::map<Key, Tried>& memory = is_on_grid ? tried_ : tried_here_;
  auto known = memory.find(key);
  const bool wants_time = options_.objective == Objective::time;
  if (known == memory.end() || (known->second.gave_up && is_better(known->second, *best_))) {
    const PlannedSteps& planned = laid(key, is_on_grid);
    Tried tried{.totals = {}, .traffic_bytes = planned.traffic_bytes()};
    // Without a limit where time is not what decides.
    double give_up_s = std::numeric_limits<double>::infinity();
    if (best_ != nullptr && (wants_time || tried.traffic_bytes >= best_->traffic_bytes))
      give_up_s =
          wants_time || tried.traffic_bytes == best_->traffic_bytes ? best_->totals.time_s : 0;
    Hardware hardware = hardware_;
    hardware.capacity_bytes = key.first;
    tried.totals = pass_.run(planned, hardware, compute_s_, Record::totals, give_up_s);
    tried.gave_up = pass_.gave_up();
    known = memory.insert_or_assign(key, tried).first;
  }
  if (best_ != nullptr && (known->second.gave_up || !is_better(known->second, *best_))) return;
  best_ = &known->second;
  best_key_ = key;
}

std::vector<std::int64_t> BestPlanner::grid_below(std::int64_t capacity_bytes) const {
  std::vector<std::int64_t> points;
  if (points_per_octave_ == 0 || !options_.tries_smaller_capacities) return points;
  std::int64_t point = grid_floor(std::min(capacity_bytes, enough_bytes_), points_per_octave_);
  while (point >= lowest_bytes_ && point > 0) {
    points.push_back(point);
    point = grid_floor(point - 1, points_per_octave_);
  }
  return points;
}

const BestPlanner::Key& BestPlanner::best_key(std::int64_t capacity_bytes) {
  const bool is_exchanging =
      options_.objective == Objective::traffic && list_.program.steps.size() <= long_program;
  if (!tried_here_.empty() && tried_here_.begin()->first.first != capacity_bytes)
    tried_here_.clear();
  best_ = nullptr;
  if (is_exchanging) consider({capacity_bytes, Way::farthest_exchanged}, false);
  consider({capacity_bytes, Way::farthest}, false);
  if (is_exchanging) consider({capacity_bytes, Way::packed_exchanged}, false);
  consider({capacity_bytes, Way::packed}, false);
  for (const std::int64_t point : grid_below(capacity_bytes)) {
    consider({point, Way::farthest}, true);
    consider({point, Way::packed}, true);
  }
  return best_key_;
}

Plan BestPlanner::at(std::int64_t capacity_bytes) { return plan_for(best_key(capacity_bytes)); }

const Prediction& BestPlanner::totals_at(std::int64_t capacity_bytes) {
  is_sweeping_ = true;
  best_key(capacity_bytes);
  return best_->totals;
}

}  // namespace strata
