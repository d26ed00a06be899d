// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/time_bound.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/bounds/keep_intervals.hpp"
#include "strata/predict/bounds/priced_bound.hpp"
#include "strata/predict/plan.hpp"
#include "strata/predict/simulate.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace strata {

namespace {

/// Windows are tried for about this many uses, all windows together.
constexpr std::size_t most_window_uses = 3'000'000;

/// For every use, the step that made what the value holds after it; `never` for what was given.
std::vector<StepId> makers(const AccessList& list) {
  std::vector<StepId> made(list.program.uses.size(), never);
  for (std::uint32_t u = 0; u < made.size(); ++u) {
    if (list.program.uses[u].writes)
      made[u] = list.step_of[u];
    else if (list.previous[u] != no_use)
      made[u] = made[list.previous[u]];
  }
  return made;
}

/// The bytes that a window of steps works on, as it grows step by step.
struct Window {
  StepId begin = 0;
  std::int64_t read_bytes = 0;  ///< first read in it: found on chip at its begin, or loaded in it
  std::int64_t left_bytes = 0;  ///< made in it and live: on chip at its end, or written in it

  void add(const AccessList& list, const std::vector<StepId>& made, StepId step) {
    const auto is_left = [&](std::uint32_t u) {
      return list.is_live(u) && made[u] != never && made[u] >= begin;
    };
    const Program& program = list.program;
    std::uint32_t u = program.steps[step].first_use;
    for (const Use& use : program.uses_of(step)) {
      const std::int64_t bytes = list.bytes_of(u);
      const std::uint32_t before = list.previous[u];
      const bool is_first = before == no_use || list.step_of[before] < begin;
      if (is_first && use.reads) read_bytes += bytes;
      if (!is_first && is_left(before)) left_bytes -= bytes;
      if (is_left(u)) left_bytes += bytes;
      ++u;
    }
  }
};

/// How many steps the windows that begin at a step may have: all of them get the base, every second
/// one twice that, every fourth one four times; the first step everything.
std::size_t most_length(StepId begin, std::size_t base, std::size_t steps) {
  if (begin == 0) return steps;
  return std::min(steps, base << std::min(std::countr_zero(begin), 30));
}

std::vector<double> compute_times(const Program& program, const Hardware& hardware) {
  std::vector<double> times;
  times.reserve(program.steps.size());
  for (const Step& step : program.steps) times.push_back(compute_time_s(step, hardware));
  return times;
}

/// Guesses at where the channel limits: steps that stall, and steps around which a schedule moves
/// more than the channel carries meanwhile, for neighbourhoods of several sizes.
std::vector<std::vector<bool>> markings_of(const Prediction& schedule, const Hardware& hardware) {
  const std::size_t steps = schedule.steps.size();
  std::vector<std::vector<bool>> markings;
  std::vector<bool> stalls(steps);
  std::vector<double> surplus(steps + 1);  // of transfer time over compute time, summed up
  for (std::size_t i = 0; i < steps; ++i) {
    const StepResult& step = schedule.steps[i];
    stalls[i] = step.wait_s + step.stream_s > 1e-9 * step.compute_s;
    const double bytes = static_cast<double>(step.in_bytes + step.out_bytes);
    surplus[i + 1] = surplus[i] + bytes / hardware.bytes_per_s - step.compute_s;
  }
  markings.push_back(stalls);
  for (const std::size_t reach : {0, 1, 2, 4, 8, 16, 32}) {
    if (reach >= steps) break;
    std::vector<bool> is_marked(steps);
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t begin = i - std::min(i, reach);
      const std::size_t end = std::min(steps, i + reach + 1);
      is_marked[i] = surplus[end] > surplus[begin];
    }
    markings.push_back(std::move(is_marked));
  }
  return markings;
}

double priced_time_bound_s(const AccessList& list, const Hardware& hardware,
                           const std::vector<double>& compute_s, const Prediction& schedule) {
  const KeepIntervals keep = keep_intervals(list.program);
  double longest_s = 0;
  for (const std::vector<bool>& is_marked : markings_of(schedule, hardware)) {
    double time_s = static_cast<double>(least_priced_bytes(list.program, keep, is_marked,
                                                           hardware.capacity_bytes)) /
                    hardware.bytes_per_s;
    for (std::size_t i = 0; i < compute_s.size(); ++i)
      if (!is_marked[i]) time_s += compute_s[i];
    longest_s = std::max(longest_s, time_s);
  }
  return longest_s;
}

}  // namespace

std::string_view name_of(TimeBoundKind kind) {
  switch (kind) {
    case TimeBoundKind::compute: return "compute";
    case TimeBoundKind::traffic: return "traffic";
    case TimeBoundKind::window: return "window";
    case TimeBoundKind::priced: return "priced";
  }
  return "";
}

double window_time_bound_s(const AccessList& list, const Hardware& hardware) {
  const std::size_t steps = list.program.steps.size();
  const std::vector<StepId> made = makers(list);
  const std::vector<double> compute_s = compute_times(list.program, hardware);
  const std::size_t uses = std::max<std::size_t>(list.program.uses.size(), 1);
  const std::size_t base =
      std::max<std::size_t>(2, most_window_uses / (uses * std::bit_width(steps + 1)));
  std::vector<double> longest_s(steps + 1);  // of the steps before
  for (StepId begin = 0; begin < steps; ++begin) {
    Window window{.begin = begin};
    double computing_s = 0;
    const std::size_t end = std::min(steps, begin + most_length(begin, base, steps));
    for (StepId step = begin; step < end; ++step) {
      window.add(list, made, step);
      computing_s += compute_s[step];
      // Nothing is on chip before the first step, and nothing may be left there after the last.
      const std::int64_t before = begin == 0 ? 0 : hardware.capacity_bytes;
      const std::int64_t after = step + 1 == steps ? 0 : hardware.capacity_bytes;
      const std::int64_t bytes = std::max<std::int64_t>(window.read_bytes - before, 0) +
                                 std::max<std::int64_t>(window.left_bytes - after, 0);
      const double moving_s = static_cast<double>(bytes) / hardware.bytes_per_s;
      longest_s[step + 1] =
          std::max(longest_s[step + 1], longest_s[begin] + std::max(computing_s, moving_s));
    }
  }
  return longest_s.back();
}

TimeBound time_bound(const AccessList& list, const Hardware& hardware,
                     std::int64_t traffic_bound_bytes, const Prediction* schedule) {
  const std::vector<double> compute_s = compute_times(list.program, hardware);
  TimeBound bound;
  for (const double step_s : compute_s) bound.compute_s += step_s;
  bound.traffic_s = static_cast<double>(traffic_bound_bytes) / hardware.bytes_per_s;
  bound.window_s = window_time_bound_s(list, hardware);
  Prediction thesis;
  if (schedule == nullptr) {
    thesis = simulate(list, farthest_next_use_plan(list, hardware.capacity_bytes, {}), hardware, {},
                      Record::steps);
    schedule = &thesis;
  }
  STRATA_CHECK(schedule->steps.size() == compute_s.size(), "the schedule has no steps");
  bound.priced_s = priced_time_bound_s(list, hardware, compute_s, *schedule);
  for (const auto& [kind, time_s] : {std::pair{TimeBoundKind::compute, bound.compute_s},
                                     {TimeBoundKind::traffic, bound.traffic_s},
                                     {TimeBoundKind::window, bound.window_s},
                                     {TimeBoundKind::priced, bound.priced_s}}) {
    if (time_s <= bound.time_s) continue;
    bound.time_s = time_s;
    bound.largest = kind;
  }
  return bound;
}

}  // namespace strata
