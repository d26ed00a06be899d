// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/best.hpp"

#include "strata/base/checked.hpp"
#include "strata/predict/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
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
    : list_(list), hardware_(hardware), options_(options), worth_of_bytes_(worth_in_bytes(list)) {
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

bool BestPlanner::is_better(const Tried& a, const Tried& b) const {
  return options_.objective == Objective::time
             ? std::tie(a.time_s, a.traffic_bytes) < std::tie(b.time_s, b.traffic_bytes)
             : std::tie(a.traffic_bytes, a.time_s) < std::tie(b.traffic_bytes, b.time_s);
}

void BestPlanner::consider(Tried& best, Plan plan) {
  Hardware hardware = hardware_;
  hardware.capacity_bytes = plan.capacity_bytes;
  const Prediction prediction = simulate(list_, plan, hardware, options_, Record::totals);
  Tried tried{std::move(plan), prediction.time_s, prediction.in_bytes + prediction.out_bytes};
  if (best.plan.uses.empty() || is_better(tried, best)) best = std::move(tried);
}

const BestPlanner::Tried& BestPlanner::tried_at(std::int64_t capacity_bytes, Effort effort) {
  const auto known = tried_.find({capacity_bytes, effort});
  if (known != tried_.end()) return known->second;
  Tried best;
  Plan farthest = farthest_next_use_plan(list_, capacity_bytes, options_);
  if (effort == Effort::exchanges) consider(best, exchanged_plan(list_, farthest, options_));
  consider(best, std::move(farthest));
  Plan packed = packed_plan(list_, capacity_bytes, options_, worth_of_bytes_);
  if (effort == Effort::exchanges) consider(best, exchanged_plan(list_, packed, options_));
  consider(best, std::move(packed));
  return tried_.emplace(std::pair(capacity_bytes, effort), std::move(best)).first->second;
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

const Plan& BestPlanner::at(std::int64_t capacity_bytes) {
  const bool is_exchanging =
      options_.objective == Objective::traffic && list_.program.steps.size() <= long_program;
  const Tried* best =
      &tried_at(capacity_bytes, is_exchanging ? Effort::exchanges : Effort::two_plans);
  for (const std::int64_t point : grid_below(capacity_bytes)) {
    const Tried& tried = tried_at(point, Effort::two_plans);
    if (is_better(tried, *best)) best = &tried;
  }
  return best->plan;
}

}  // namespace strata
