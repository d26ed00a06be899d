// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/plan_floor.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr double less_rounding = 1 - 1e-9;  // sums are rounded as they are added up

}  // namespace

PlanFloor::PlanFloor(const AccessList& list)
    : list_(list), slices_(list.needs.size()), touched_bytes_(list.needs.size(), 0) {
  for (std::uint32_t u = 0; u < list.facts.size(); ++u) {
    const AccessList::Facts& use = list.facts[u];
    const StepId step = list.step_of[u];
    if (use.reads || use.is_live) touched_bytes_[step] += use.bytes;
    (use.must_be_whole ? slices_[step].whole_bytes : slices_[step].rows_bytes) += use.least_bytes;
    if (use.reads && !use.must_be_whole) slices_[step].reread_bytes += use.bytes;
  }
}

void PlanFloor::assess(const Plan& plan, const std::vector<double>& compute_s, double bytes_per_s) {
  is_dirty_.assign(list_.program.values.size(), 0);
  traffic_bytes_ = 0;
  time_s_ = 0;
  std::uint32_t u = 0;
  for (StepId step = 0; step < compute_s.size(); ++step) {
    std::int64_t streamed = plan.refetch_bytes.empty() ? 0 : plan.refetch_bytes[step];
    for (const std::uint32_t end = list_.first_use(step + 1); u < end; ++u) {
      const AccessList::Facts& use = list_.facts[u];
      if (plan.uses[u].residency == Residency::streamed) {
        streamed += use.bytes * (static_cast<int>(use.reads) + (use.writes && use.is_live));
        continue;
      }
      if (use.reads && (use.before == no_use || !plan.uses[use.before].stays))
        traffic_bytes_ += use.bytes;
      const bool is_dirty = is_dirty_[use.value] != 0 || use.writes;
      is_dirty_[use.value] = static_cast<std::uint8_t>(is_dirty && plan.uses[u].stays);
      if (is_dirty && use.is_live && !plan.uses[u].stays) traffic_bytes_ += use.bytes;
    }
    traffic_bytes_ += streamed;
    time_s_ += std::max(compute_s[step], static_cast<double>(streamed) / bytes_per_s);
  }
  time_s_ = std::max(time_s_, static_cast<double>(traffic_bytes_) / bytes_per_s) * less_rounding;
}

// What nothing can load ahead comes between two steps, and what the last step changed is written
// back after it. Without prefetch that is all that a step loads; with that of the next layer the
// rest of it passes the channel after the stream of the step before.
double PlanFloor::time_of(const PlannedSteps& planned, Prefetch prefetch,
                          std::int64_t capacity_bytes, const std::vector<double>& compute_s,
                          double bytes_per_s) {
  const double s_per_byte = 1 / bytes_per_s;
  const std::vector<std::uint32_t>& first_loads = planned.first_loads();
  const auto loaded_bytes = [&](StepId step) {
    std::int64_t bytes = 0;
    for (std::uint32_t load = first_loads[step]; load < first_loads[step + 1]; ++load)
      bytes += planned.loads()[load].bytes;
    return bytes;
  };
  const auto late_bytes = [&](StepId step) {
    return prefetch == Prefetch::none ? loaded_bytes(step)
                                      : planned.late_bytes(step, capacity_bytes);
  };
  double time_s = static_cast<double>(planned.last_write_back_bytes()) * s_per_byte;
  const auto steps = static_cast<StepId>(compute_s.size());
  for (StepId step = 0; step < steps; ++step) {
    const PlannedStep& of = planned.steps()[step];
    std::int64_t moved = of.stream_in_bytes + of.stream_out_bytes;
    if (prefetch == Prefetch::next_layer && step + 1 < steps)
      moved += loaded_bytes(step + 1) - late_bytes(step + 1);
    time_s += static_cast<double>(late_bytes(step)) * s_per_byte +
              std::max(compute_s[step], static_cast<double>(moved) * s_per_byte);
  }
  const auto traffic = static_cast<double>(planned.traffic().total());
  return std::max(time_s, traffic * s_per_byte) * less_rounding;
}

// A step that is cut holds nothing whole; of any other at most the capacity is not streamed.
std::int64_t PlanFloor::least_streamed_bytes(StepId step, std::int64_t capacity_bytes) const {
  const std::int64_t touched = touched_bytes_[step];
  if (list_.needs[step].least_bytes <= capacity_bytes) return touched - capacity_bytes;
  const Slices& cut = slices_[step];
  const std::int64_t room = room_for_slices(cut.rows_bytes, capacity_bytes);
  if (cut.whole_bytes <= room) return touched;
  return touched + ((cut.whole_bytes + room - 1) / room - 1) * cut.reread_bytes;
}

double PlanFloor::time_at_s(std::int64_t capacity_bytes, const std::vector<double>& compute_s,
                            double bytes_per_s) const {
  double time_s = 0;
  for (StepId step = 0; step < compute_s.size(); ++step) {
    const auto streamed = static_cast<double>(least_streamed_bytes(step, capacity_bytes));
    time_s += std::max(compute_s[step], streamed / bytes_per_s);
  }
  return time_s * less_rounding;
}

}  // namespace strata
