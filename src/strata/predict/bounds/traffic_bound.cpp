// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/traffic_bound.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/bounds/flow.hpp"
#include "strata/predict/bounds/hold_network.hpp"
#include "strata/predict/bounds/reuse_intervals.hpp"
#include "strata/predict/capacity.hpp"

#include <algorithm>

namespace strata {

namespace {

/// Above this the flow for all capacities takes seconds.
constexpr std::size_t most_steps = 5'000;

/// Every interval as something to hold, worth the read it saves, and the write where it is the one
/// that its version's write is charged to.
std::vector<Hold> holds_of(const ReuseIntervals& reuse, std::size_t steps) {
  std::vector<Hold> holds;
  holds.reserve(reuse.intervals.size());
  for (const ReuseInterval& interval : reuse.intervals)
    holds.push_back({.begin = interval.begin,
                     .end = interval.end,
                     .first_use = interval.first_use,
                     .last_use = interval.last_use,
                     .bytes = interval.bytes,
                     .worth = 1});
  const std::vector<std::uint32_t> charged = charged_intervals(reuse, steps);
  for (std::size_t i = 0; i < charged.size(); ++i)
    if (charged[i] != no_version && !reuse.versions[i].is_result) ++holds[charged[i]].worth;
  return holds;
}

TrafficBound bound_of(const ReuseIntervals& reuse, const FlowNetwork& network) {
  TrafficBound bound;
  bound.compulsory_bytes = reuse.compulsory_bytes;
  TrafficBound::Piece piece{0, checked_add(reuse.compulsory_bytes, reuse.avoidable_bytes), 0};
  for (const FlowPiece& flow : network.cheapest_first(no_limit, 0)) {
    piece.slope = -flow.cost;
    bound.pieces.push_back(piece);
    piece.from_capacity_bytes = checked_add(piece.from_capacity_bytes, flow.amount);
    piece.bytes = (Count(piece.bytes) - Count(flow.amount) * piece.slope).value();
  }
  piece.slope = 0;
  STRATA_CHECK(piece.bytes == reuse.compulsory_bytes, "all that can be kept is kept at the end");
  bound.pieces.push_back(piece);
  return bound;
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
  const ReuseIntervals reuse = reuse_intervals(program);
  return bound_of(reuse, gap_network(program.steps.size(), holds_of(reuse, program.steps.size())));
}

TrafficBound model_traffic_bound(const Program& program) {
  const ReuseIntervals reuse = reuse_intervals(program);
  return bound_of(reuse, step_network(program.steps.size(), holds_of(reuse, program.steps.size())));
}

std::int64_t model_traffic_bound_at(const Program& program, std::int64_t capacity_bytes) {
  const ReuseIntervals reuse = reuse_intervals(program);
  const FlowNetwork network = capacity_network(program, holds_of(reuse, program.steps.size()), capacity_bytes);
  Count bytes = Count(reuse.compulsory_bytes) + reuse.avoidable_bytes;
  bytes += network.least_cost(capacity_bytes);
  for (StepId step = 0; step < program.steps.size(); ++step)
    if (fit_of(need_of(program, step), capacity_bytes) == Fit::slices)
      bytes += slicing_of(program, step, capacity_bytes).refetch_bytes;
  return bytes.value();
}

std::optional<std::string> reason_against_bounds(const Program& program) {
  if (program.steps.size() <= most_steps) return std::nullopt;
  return fmt::format(
      "bounds are left out above {} steps, as they take seconds there, and this program has {}; "
      "--bounds always computes them",
      most_steps, program.steps.size());
}

}  // namespace strata
