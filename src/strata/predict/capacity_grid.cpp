// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/capacity_grid.hpp"

#include "strata/base/checked.hpp"
#include "strata/predict/planning_memory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace strata {
namespace {

/// By how many binary digits a number is too long for a grid.
int digits_beyond(std::int64_t bytes, int points) {
  const auto width = [](std::int64_t number) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
  };
  return std::max(0, width(bytes) - width(points));
}

/// Caches take less than one row of everything, too, but then no smaller capacity is tried.
bool is_refused(const AccessList& list, const PredictOptions& options, StepId step,
                std::int64_t capacity_bytes) {
  const StepNeed& need = list.needs[step];
  if (need.least_bytes <= capacity_bytes) return false;
  if (!options.strict_minimum) return need.rows_bytes > capacity_bytes;
  return need.least_bytes > tolerated_bytes(capacity_bytes, options);
}

std::int64_t lowest_for(const AccessList& list, const PredictOptions& options, StepId step) {
  const StepNeed& need = list.needs[step];
  const double least = static_cast<double>(need.least_bytes) / (1 + options.minimum_slack);
  std::int64_t lowest =
      options.strict_minimum ? static_cast<std::int64_t>(std::floor(least)) - 1 : need.rows_bytes;
  lowest = std::max<std::int64_t>(lowest, 1);
  while (is_refused(list, options, step, lowest)) ++lowest;  // of roundings only
  return lowest;
}

}  // namespace

CapacityGrid::CapacityGrid(const AccessList& list, const PredictOptions& options)
    : points_(planned_length(list.program) > long_program ? 16 : 64), lowest_bytes_(1) {
  Count values;
  for (const Value& value : list.program.values) values += value.bytes;
  auto& [least, all, enough] = needed_bytes_;
  enough = std::max<std::int64_t>(values.value(), 1);
  for (StepId step = 0; step < list.needs.size(); ++step) {
    const StepNeed& need = list.needs[step];
    if (is_refused(list, options, step, lowest_bytes_))
      lowest_bytes_ = lowest_for(list, options, step);
    least = std::max(least, need.least_bytes);
    all = std::max(all, need.all_bytes);
  }
}

std::int64_t CapacityGrid::floor(std::int64_t bytes, int points) const {
  if (bytes <= lowest_bytes_) return bytes;
  bytes = std::min(bytes, std::max(needed_bytes_.back(), lowest_bytes_));
  const int digits = digits_beyond(bytes, points);
  std::int64_t point = std::max((bytes >> digits) << digits, lowest_bytes_);
  for (const std::int64_t needed : needed_bytes_) {
    if (needed <= bytes) point = std::max(point, needed);
  }
  return point;
}

std::int64_t CapacityGrid::above(std::int64_t point) const {
  const int digits = digits_beyond(point, points_);
  std::int64_t next = ((point >> digits) + 1) << digits;
  for (const std::int64_t needed : needed_bytes_) {
    if (needed > point) next = std::min(next, needed);
  }
  return floor(next);
}

}  // namespace strata
