// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/traffic_bound.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/bounds/flow.hpp"
#include "strata/predict/bounds/hold_network.hpp"
#include "strata/predict/bounds/keep_intervals.hpp"
#include "strata/predict/capacity.hpp"
#include "strata/predict/planning_memory.hpp"

#include <algorithm>

namespace strata {

namespace {

/// Above this the flow for all capacities takes seconds.
constexpr std::size_t most_steps = 5'000;

/// One interval of every version is also worth its write, unless one of them does not fit: then the
/// write is not saved.
void add_writes(const KeepIntervals& keep, std::size_t steps, const std::vector<bool>& fits,
                std::vector<Hold>& holds) {
  const std::vector<std::uint32_t> charged = charged_intervals(keep, steps);
  for (std::size_t i = 0; i < charged.size(); ++i) {
    const ValueVersion& version = keep.versions[i];
    if (version.intervals == 0 || version.is_result) continue;
    const auto begin = fits.begin() + version.first_interval;
    if (std::find(begin, begin + version.intervals, false) == begin + version.intervals)
      ++holds[charged[i]].worth;
  }
}

std::vector<Hold> holds_with_writes(const Program& program, const KeepIntervals& keep) {
  std::vector<Hold> holds = holds_of(keep);
  add_writes(keep, program.steps.size(), std::vector<bool>(holds.size(), true), holds);
  return holds;
}

std::vector<Hold> holds_that_fit(const Program& program, const KeepIntervals& keep,
                                 const std::vector<StepOwn>& owns, std::int64_t capacity_bytes,
                                 std::int64_t granularity_bytes) {
  std::vector<Hold> holds = holds_of(keep);
  const std::vector<bool> fits = which_fit(program, owns, capacity_bytes, granularity_bytes, holds);
  add_writes(keep, program.steps.size(), fits, holds);
  drop_what_does_not_fit(fits, holds);
  return holds;
}

TrafficBound bound_of(const KeepIntervals& keep, const FlowNetwork& network) {
  TrafficBound bound;
  bound.compulsory_bytes = keep.compulsory_bytes;
  TrafficBound::Piece piece{0, checked_add(keep.compulsory_bytes, keep.avoidable_bytes), 0};
  for (const FlowPiece& flow : network.cheapest_first(no_limit, 0)) {
    piece.slope = -flow.cost;
    bound.pieces.push_back(piece);
    piece.from_capacity_bytes = checked_add(piece.from_capacity_bytes, flow.amount);
    piece.bytes = (Count(piece.bytes) - Count(flow.amount) * piece.slope).value();
  }
  piece.slope = 0;
  STRATA_CHECK(piece.bytes == keep.compulsory_bytes, "all that can be kept is kept at the end");
  bound.pieces.push_back(piece);
  return bound;
}

/// The traffic of the plan that keeps nothing. What sliced steps read again belongs to it: a
/// smaller capacity only makes that more.
Count nothing_kept_bytes(const Program& program, const KeepIntervals& keep,
                         std::int64_t capacity_bytes) {
  Count bytes = Count(keep.compulsory_bytes) + keep.avoidable_bytes;
  for (StepId step = 0; step < program.steps.size(); ++step)
    if (fit_of(need_of(program, step), capacity_bytes) == Fit::slices)
      bytes += slicing_of(program, step, capacity_bytes).refetch_bytes;
  return bytes;
}

}  // namespace

std::int64_t TrafficBound::bytes_at(std::int64_t capacity_bytes) const {
  STRATA_CHECK(capacity_bytes >= 0, "a capacity is not negative");
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), capacity_bytes,
                                      [](std::int64_t capacity, const Piece& piece) {
                                        return capacity < piece.from_capacity_bytes;
                                      });
  const Piece& piece = *(after - 1);
  return piece.bytes - piece.slope * (capacity_bytes - piece.from_capacity_bytes);
}

TrafficBound physical_traffic_bound(const Program& program) {
  const KeepIntervals keep = keep_intervals(program);
  return bound_of(keep, gap_network(program.steps.size(), holds_with_writes(program, keep)));
}

TrafficBound model_traffic_bound(const Program& program) {
  const KeepIntervals keep = keep_intervals(program);
  return bound_of(keep, step_network(program.steps.size(), holds_with_writes(program, keep)));
}

std::int64_t model_traffic_bound_at(const Program& program, std::int64_t capacity_bytes,
                                    std::int64_t granularity_bytes) {
  const KeepIntervals keep = keep_intervals(program);
  const std::vector<Hold> holds = holds_that_fit(program, keep, owns_up_to(program, capacity_bytes),
                                                 capacity_bytes, granularity_bytes);
  const FlowNetwork network = step_network(program.steps.size(), holds);
  Count saved = 0;
  for (const FlowPiece& piece : network.cheapest_first(capacity_bytes, 0))
    saved += Count(piece.amount) * -piece.cost;
  return (nothing_kept_bytes(program, keep, capacity_bytes) - saved).value();
}

std::int64_t just_this_capacity_traffic_bound(const Program& program, std::int64_t capacity_bytes) {
  const KeepIntervals keep = keep_intervals(program);
  const std::vector<Hold> holds =
      holds_that_fit(program, keep, owns_at(program, capacity_bytes), capacity_bytes, 0);
  const FlowNetwork network = capacity_network(program, holds, capacity_bytes);
  return (nothing_kept_bytes(program, keep, capacity_bytes) + network.least_cost(capacity_bytes))
      .value();
}

std::optional<std::string> reason_against_bounds(const Program& program) {
  const std::size_t length = planned_length(program);
  if (length <= most_steps) return std::nullopt;
  return fmt::format(
      "bounds are left out above {} steps, as they take seconds there, and this program has {}; "
      "--bounds always computes them",
      most_steps, length);
}

}  // namespace strata
