// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"
#include "strata/predict/margin.hpp"

#include <string>
#include <vector>

/// Plans: what stays on chip from one use to the next. A plan knows capacities and bytes, no time.
namespace strata {

struct PlanTraffic {
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t total() const { return in_bytes + out_bytes; }
};

/// The bytes that a plan moves, whatever the rates are: a value that is read and not on chip is
/// loaded; a changed value that leaves the chip is written, once per version, unless it is dead.
PlanTraffic traffic_of(const AccessList& list, const Plan& plan);

/// The part of it that one value moves; sliced steps read more on top.
PlanTraffic traffic_of_value(const AccessList& list, const Plan& plan, ValueId value);

/// What each step holds on chip under a plan: its own values, or rows of them, and what passes by.
std::vector<std::int64_t> occupied_bytes(const AccessList& list, const Plan& plan);

/// What breaks the capacity rule or contradicts itself; for tests and for plans that others make.
/// Empty: nothing.
std::vector<std::string> problems_of(const AccessList& list, const Plan& plan);

/// The step that needs the most for one row of each of its values.
StepId widest_step(const AccessList& list);
/// Errors (input): the capacity is below one row of each value of that step, and the chip is
/// managed by hand. The planners do without whole rows.
void check_rows(const AccessList& list, StepId widest, const Hardware& hardware,
                const PredictOptions& options);

/// The plan in which nothing stays: every step resident as far as the capacity rule says, sliced
/// where it must be. Planners start from it. Errors (input), when strict: the capacity is below the
/// minimum.
Plan empty_plan(const AccessList& list, std::int64_t capacity_bytes, const PredictOptions& options);
/// The same into a plan that is there already; says up to which capacity it is the same.
Margin fill_empty_plan(Plan& plan, const AccessList& list, std::int64_t capacity_bytes,
                       const PredictOptions& options);

/// Farthest next use first (Belady), as the thesis does it.
Plan farthest_next_use_plan(const AccessList& list, std::int64_t capacity_bytes,
                            const PredictOptions& options);

/// Gives each interval between two uses a worth (bytes it saves, or what the caller makes of them),
/// takes the most worthy per byte and step first, and keeps what fits.
Plan packed_plan(const AccessList& list, std::int64_t capacity_bytes, const PredictOptions& options,
                 const std::vector<double>& worth_of_use);

}  // namespace strata
