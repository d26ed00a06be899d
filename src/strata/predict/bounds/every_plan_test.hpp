// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

/// All plans of a small program, tried one by one: what bounds and optima are held against.
namespace strata::every_plan {

/// The uses after which staying may save something, by the rule in words: somebody uses the value
/// again.
inline std::vector<std::uint32_t> candidates(const AccessList& list) {
  std::vector<std::uint32_t> uses;
  for (std::uint32_t use = 0; use < list.program.uses.size(); ++use)
    if (list.next[use] != no_use) uses.push_back(use);
  return uses;
}

/// The plan in which of `uses` those stay whose bit is set. Not always a valid one.
inline Plan plan_of(const AccessList& list, std::int64_t capacity_bytes,
                    const std::vector<std::uint32_t>& uses, std::uint32_t set) {
  Plan plan = empty_plan(list, capacity_bytes, {});
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    plan.uses[uses[i]].stays = true;
    plan.uses[uses[i]].residency = Residency::resident;
    plan.uses[list.next[uses[i]]].residency = Residency::resident;
  }
  return plan;
}

/// The least traffic over all valid plans, judged by problems_of and traffic_of alone. -1: none is
/// valid.
inline std::int64_t least_traffic(const AccessList& list, std::int64_t capacity_bytes) {
  const std::vector<std::uint32_t> uses = candidates(list);
  std::int64_t least = -1;
  for (std::uint32_t set = 0; set < std::uint32_t{1} << uses.size(); ++set) {
    const Plan plan = plan_of(list, capacity_bytes, uses, set);
    if (!problems_of(list, plan).empty()) continue;
    const std::int64_t traffic = traffic_of(list, plan).total();
    if (least < 0 || traffic < least) least = traffic;
  }
  return least;
}

/// Capacities worth trying: every one from the least that can be planned for to what holds all.
inline std::vector<std::int64_t> capacities(const AccessList& list) {
  std::int64_t rows = 1;
  for (StepId step = 0; step < list.program.steps.size(); ++step) {
    std::int64_t others = 1;  // a slice is at least a byte
    for (const Use& use : list.program.uses_of(step))
      if (!must_be_whole(list.program, step, use))
        others += list.program.values[use.value].row_bytes;
    rows = std::max({rows, list.needs[step].rows_bytes, others});
  }
  std::int64_t all = 0;
  for (const Value& value : list.program.values) all += value.bytes;
  std::vector<std::int64_t> result;
  for (std::int64_t capacity = rows; capacity <= std::max(all, rows); ++capacity)
    result.push_back(capacity);
  return result;
}

}  // namespace strata::every_plan
