// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/plan.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace strata {

PlanTraffic traffic_of_value(const AccessList& list, const Plan& plan, ValueId value) {
  const Program& program = list.program;
  std::int64_t loads = 0;
  std::int64_t stores = 0;
  bool is_on_chip = false;
  bool is_dirty = false;
  for (std::uint32_t u = list.first_of[value]; u != no_use; u = list.next[u]) {
    const Use& use = program.uses[u];
    if (use.reads && !is_on_chip) ++loads;
    is_dirty = is_dirty || use.writes;
    is_on_chip = plan.uses[u].stays;
    if (is_on_chip || !is_dirty) continue;
    if (list.is_live(u)) ++stores;
    is_dirty = false;
  }
  const std::int64_t bytes = program.values[value].bytes;
  return {checked_mul(loads, bytes), checked_mul(stores, bytes)};
}

PlanTraffic traffic_of(const AccessList& list, const Plan& plan) {
  Count in;
  Count out;
  for (ValueId value = 0; value < list.program.values.size(); ++value) {
    const PlanTraffic traffic = traffic_of_value(list, plan, value);
    in += traffic.in_bytes;
    out += traffic.out_bytes;
  }
  for (const std::int64_t bytes : plan.refetch_bytes) in += bytes;
  return {in.value(), out.value()};
}

namespace {

std::int64_t held_bytes(const AccessList& list, const Plan& plan, StepId step) {
  const Program& program = list.program;
  if (fit_of(list.needs[step], plan) == Fit::slices)
    return slicing_of(program, step, plan.capacity_bytes).held_bytes;
  std::int64_t held = 0;
  const std::uint32_t first = program.steps[step].first_use;
  std::uint32_t u = first;
  for (const Use& use : program.uses_of(step)) {
    held += plan.uses[u].residency == Residency::resident ? program.values[use.value].bytes
                                                          : least_bytes(program, step, use);
    ++u;
  }
  return held;
}

}  // namespace

std::vector<std::int64_t> occupied_bytes(const AccessList& list, const Plan& plan) {
  const std::size_t steps = list.program.steps.size();
  std::vector<std::int64_t> change(steps + 1, 0);  // of what passes by, from one step to the next
  for (std::uint32_t u = 0; u < plan.uses.size(); ++u) {
    if (!plan.uses[u].stays) continue;
    change[list.step_of[u] + 1] += list.bytes_of(u);
    change[list.next_step(u)] -= list.bytes_of(u);
  }
  std::int64_t passing = 0;
  std::vector<std::int64_t> occupied(steps);
  for (StepId step = 0; step < steps; ++step) {
    passing += change[step];
    occupied[step] = passing + held_bytes(list, plan, step);
  }
  return occupied;
}

std::vector<std::string> problems_of(const AccessList& list, const Plan& plan) {
  std::vector<std::string> problems;
  const Program& program = list.program;
  if (plan.uses.size() != program.uses.size()) return {"the plan is for another program"};
  for (std::uint32_t u = 0; u < plan.uses.size(); ++u) {
    const StepId step = list.step_of[u];
    const Fit fit = fit_of(list.needs[step], plan);
    const bool is_streamed = plan.uses[u].residency == Residency::streamed;
    const auto complain = [&](std::string_view what) {
      problems.push_back(fmt::format("step {}, value {}: {}", step, program.uses[u].value, what));
    };
    if (fit == Fit::whole && is_streamed) complain("streamed, though the step fits");
    if (fit == Fit::slices && !is_streamed) complain("resident, though the step is sliced");
    if (fit == Fit::rows && is_streamed && must_be_whole(program, step, program.uses[u]))
      complain("streamed, though it must be whole");
    if (!plan.uses[u].stays) continue;
    if (list.next[u] == no_use) {
      complain("stays, though it is not used again");
      continue;
    }
    if (is_streamed) complain("stays, though it is streamed");
    if (plan.uses[list.next[u]].residency == Residency::streamed)
      complain("stays, though it is streamed at its next use");
  }
  if (!problems.empty()) return problems;
  const std::vector<std::int64_t> occupied = occupied_bytes(list, plan);
  for (StepId step = 0; step < occupied.size(); ++step) {
    const bool is_tolerated = fit_of(list.needs[step], plan) == Fit::rows &&
                              occupied[step] == list.needs[step].least_bytes;
    if (occupied[step] > plan.capacity_bytes && !is_tolerated)
      problems.push_back(
          fmt::format("step {} holds {} bytes of {}", step, occupied[step], plan.capacity_bytes));
  }
  return problems;
}

namespace {

[[noreturn]] void refuse(const AccessList& list, StepId step, std::int64_t capacity_bytes,
                         std::int64_t needed_bytes, std::string_view what) {
  fail(ErrorKind::input, "an on-chip capacity of {} is too small: {} needs {} ({})",
       format_capacity(static_cast<double>(capacity_bytes)), name_of(list.program, step),
       format_capacity(static_cast<double>(needed_bytes), 4), what);
}

// How much more room makes do with one slice less. A step that cuts rows holds all of the chip,
// whatever that is.
std::int64_t missing_for_fewer_slices(const AccessList& list, StepId step,
                                      std::int64_t capacity_bytes, const Slicing& slicing) {
  if (slicing.cuts_rows) return 1;
  const std::int64_t slices = slicing.slices;
  std::int64_t more = list.needs[step].least_bytes - capacity_bytes;
  if (slices <= 1) return more;
  std::int64_t whole = 0;
  std::int64_t rows = 0;
  for (std::uint32_t u = list.first_use(step); u < list.first_use(step + 1); ++u)
    (list.facts[u].must_be_whole ? whole : rows) += list.facts[u].least_bytes;
  const std::int64_t one_slice = (whole + slices - 2) / (slices - 1);
  return std::min(more, rows + one_slice - capacity_bytes);
}

}  // namespace

StepId widest_step(const AccessList& list) {
  const auto widest = std::max_element(
      list.needs.begin(), list.needs.end(),
      [](const StepNeed& a, const StepNeed& b) { return a.rows_bytes < b.rows_bytes; });
  return static_cast<StepId>(widest - list.needs.begin());
}

void check_rows(const AccessList& list, StepId widest, const Hardware& hardware,
                const PredictOptions& options) {
  if (hardware.is_cache || list.needs.empty()) return;
  const std::int64_t most_bytes =
      std::max(hardware.capacity_bytes, tolerated_bytes(hardware.capacity_bytes, options));
  if (list.needs[widest].rows_bytes > most_bytes)
    refuse(list, widest, hardware.capacity_bytes, list.needs[widest].rows_bytes,
           "one row of each of its tensors");
}

Margin fill_empty_plan(Plan& plan, const AccessList& list, std::int64_t capacity_bytes,
                       const PredictOptions& options) {
  const Program& program = list.program;
  plan.capacity_bytes = capacity_bytes;
  plan.tolerated_bytes = tolerated_bytes(capacity_bytes, options);
  plan.uses.assign(program.uses.size(), {});
  plan.refetch_bytes.clear();
  Margin margin;
  std::optional<StepId> largest;  // of the steps that a strict minimum refuses
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const StepNeed& need = list.needs[step];
    const Fit fit = fit_of(need, plan);
    if (fit == Fit::whole) continue;
    margin.grow_needed(need.all_bytes - capacity_bytes);
    for (std::uint32_t u = list.first_use(step); u < list.first_use(step + 1); ++u) {
      const bool is_whole = fit == Fit::rows && list.facts[u].must_be_whole;
      plan.uses[u].residency = is_whole ? Residency::resident : Residency::streamed;
    }
    if (fit != Fit::slices) continue;
    if (options.strict_minimum && (!largest || need.least_bytes > list.needs[*largest].least_bytes))
      largest = step;
    const Slicing slicing = slicing_of(program, step, capacity_bytes);
    if (plan.refetch_bytes.empty()) plan.refetch_bytes.resize(program.steps.size());
    plan.refetch_bytes[step] = slicing.refetch_bytes;
    margin.grow_needed(missing_for_fewer_slices(list, step, capacity_bytes, slicing));
  }
  if (largest)
    refuse(list, *largest, capacity_bytes, list.needs[*largest].least_bytes,
           "its weights whole and one row of each other tensor");
  return margin;
}

Plan empty_plan(const AccessList& list, std::int64_t capacity_bytes,
                const PredictOptions& options) {
  Plan plan;
  fill_empty_plan(plan, list, capacity_bytes, options);
  return plan;
}

}  // namespace strata
