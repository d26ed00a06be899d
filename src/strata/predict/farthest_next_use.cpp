// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/farthest_next_use.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace strata {

FarthestNextUse::FarthestNextUse(const AccessList& list, const PredictOptions& options)
    : list_(list), options_(options), links_(list.facts.size()) {
  for (StepId step = 0; step < list.program.steps.size(); ++step) {
    const auto uses = list.uses_by_value(step);
    for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
      const std::uint32_t before = list.previous[*use];
      links_[*use].bytes = list.bytes_of(*use);
      if (before == no_use || !list.facts[*use].reads) continue;
      links_[before].rank = links_[*use].rank_before = static_cast<std::uint32_t>(use_at_.size());
      use_at_.push_back(before);
    }
  }
}

const Plan& FarthestNextUse::at(std::int64_t capacity_bytes) {
  margin_ = fill_empty_plan(plan_, list_, capacity_bytes, options_);
  kept_bytes_ = 0;
  kept_.reset(use_at_.size());
  steps_in_rows_.clear();
  for (StepId step = 0; step < list_.program.steps.size(); ++step) run_step(step);
  stream_what_is_not_kept();
  return plan_;
}

void FarthestNextUse::run_step(StepId step) {
  const std::uint32_t first = list_.first_use(step);
  const std::uint32_t end = list_.first_use(step + 1);
  const std::int64_t all_bytes = list_.needs[step].all_bytes;
  const bool is_whole = all_bytes <= plan_.capacity_bytes;
  const std::int64_t held =
      is_whole ? all_bytes : hold_part(step, fit_of(list_.needs[step], plan_));
  const Link* const links = links_.data();
  std::int64_t kept_bytes = kept_bytes_;  // in a register: this is where planning takes its time
  for (std::uint32_t u = first; u < end; ++u) {
    if (!is_kept(u)) continue;  // else what is used now no longer passes by
    kept_bytes -= links[u].bytes;
    kept_.erase(links[u].rank_before);
  }
  const std::int64_t room = std::max<std::int64_t>(0, plan_.capacity_bytes - held);
  if (kept_bytes > room) kept_bytes = make_room(step, room, kept_bytes);
  UsePlan* const uses = plan_.uses.data();
  for (std::uint32_t u = first; u < end; ++u) {
    uses[u].leaves_at = step + 1;
    if (links[u].rank == no_use || uses[u].residency == Residency::streamed) continue;
    uses[u].stays = true;
    kept_bytes += links[u].bytes;
    kept_.insert(links[u].rank);
  }
  kept_bytes_ = kept_bytes;
}

// A step that does not fit holds a part of its values; the others leave the chip.
std::int64_t FarthestNextUse::hold_part(StepId step, Fit fit) {
  if (fit == Fit::rows) {
    steps_in_rows_.push_back(step);
    choose_residents(step);
  }
  std::int64_t held = 0;
  for (std::uint32_t u = list_.first_use(step); u < list_.first_use(step + 1); ++u) {
    const AccessList::Facts& use = list_.facts[u];
    const bool is_resident = plan_.uses[u].residency == Residency::resident;
    held += is_resident ? use.bytes : use.least_bytes;
    if (is_resident || !is_kept(u)) continue;
    kept_bytes_ -= use.bytes;
    kept_.erase(links_[u].rank_before);
    let_go(use.before, step);
  }
  return fit == Fit::slices ? slicing_of(list_.program, step, plan_.capacity_bytes).held_bytes
                            : held;
}

// A step that does not fit keeps what fits, tensor by tensor: first what is on chip already, then
// what is used again soonest.
void FarthestNextUse::choose_residents(StepId step) {
  candidates_.clear();
  for (const std::uint32_t u : list_.uses_by_value(step)) {
    if (plan_.uses[u].residency == Residency::resident) continue;
    if (is_kept(u) || list_.is_reused(u)) candidates_.push_back(u);
  }
  std::sort(candidates_.begin(), candidates_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto rank = [&](std::uint32_t u) {
      return std::tuple(!is_kept(u), list_.next_step(u), list_.facts[u].value);
    };
    return rank(a) < rank(b);
  });
  std::int64_t room = plan_.capacity_bytes - list_.needs[step].least_bytes;
  for (const std::uint32_t u : candidates_) {
    const std::int64_t more = list_.facts[u].bytes - list_.facts[u].least_bytes;
    if (more > room) {
      margin_.grow_needed(more - room);
      continue;
    }
    room -= more;
    plan_.uses[u].residency = Residency::resident;
  }
}

// Returns what is kept then.
std::int64_t FarthestNextUse::make_room(StepId step, std::int64_t room, std::int64_t kept_bytes) {
  while (kept_bytes > room) {
    margin_.grow_needed(kept_bytes - room);
    const std::uint32_t rank = kept_.highest();
    const std::uint32_t use = use_at_[rank];
    let_go(use, step);
    kept_bytes -= links_[use].bytes;
    kept_.erase(rank);
  }
  return kept_bytes;
}

void FarthestNextUse::let_go(std::uint32_t use, StepId step) {
  plan_.uses[use].stays = false;
  plan_.uses[use].leaves_at = step;
}

// A step that does not fit streams values that were not on chip before it and do not stay: holding
// them whole would only delay the step.
void FarthestNextUse::stream_what_is_not_kept() {
  for (const StepId step : steps_in_rows_) {
    for (std::uint32_t u = list_.first_use(step); u < list_.first_use(step + 1); ++u) {
      const AccessList::Facts& use = list_.facts[u];
      const bool was_kept = use.before != no_use && plan_.uses[use.before].stays;
      if (plan_.uses[u].stays || was_kept || use.must_be_whole) continue;
      plan_.uses[u].residency = Residency::streamed;
    }
  }
}

Plan farthest_next_use_plan(const AccessList& list, std::int64_t capacity_bytes,
                            const PredictOptions& options) {
  FarthestNextUse planner(list, options);
  planner.at(capacity_bytes);
  return std::move(planner).take();
}

}  // namespace strata
