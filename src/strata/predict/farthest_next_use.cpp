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
      links_[*use].before = before;
      if (before == no_use || !list.facts[*use].reads) continue;
      links_[before].rank = static_cast<std::uint32_t>(use_at_.size());
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
  const Fit fit = fit_of(list_.needs[step], plan_);
  const std::int64_t held = fit == Fit::whole ? list_.needs[step].all_bytes : hold_part(step, fit);
  for (std::uint32_t u = first; u < end; ++u) {
    if (was_kept(u)) pick_up(u);
  }
  make_room(step, std::max<std::int64_t>(0, plan_.capacity_bytes - held));
  for (std::uint32_t u = first; u < end; ++u) keep(u, step);
}

// What is on chip and is used now no longer passes by.
void FarthestNextUse::pick_up(std::uint32_t use) {
  kept_bytes_ -= links_[use].bytes;
  kept_.erase(links_[links_[use].before].rank);
}

// What a step holds that does not fit; what it does not hold whole leaves.
std::int64_t FarthestNextUse::hold_part(StepId step, Fit fit) {
  if (fit == Fit::rows) {
    steps_in_rows_.push_back(step);
    choose_residents(step);
  }
  std::int64_t held = 0;
  for (std::uint32_t u = list_.first_use(step); u < list_.first_use(step + 1); ++u) {
    const AccessList::Facts& use = list_.facts[u];
    const bool is_resident = plan_.uses[u].place == Place::resident;
    held += is_resident ? use.bytes : use.least_bytes;
    if (is_resident || !was_kept(u)) continue;
    pick_up(u);
    let_go(links_[u].before, step);
  }
  return fit == Fit::slices ? slicing_of(list_.program, step, plan_.capacity_bytes).held_bytes
                            : held;
}

// A step that does not fit keeps what fits, tensor by tensor: first what is on chip already, then
// what is used again soonest.
void FarthestNextUse::choose_residents(StepId step) {
  candidates_.clear();
  for (const std::uint32_t u : list_.uses_by_value(step)) {
    if (plan_.uses[u].place == Place::resident) continue;
    if (was_kept(u) || list_.is_reused(u)) candidates_.push_back(u);
  }
  std::sort(candidates_.begin(), candidates_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto rank = [&](std::uint32_t u) {
      return std::tuple(!was_kept(u), list_.next_step(u), list_.facts[u].value);
    };
    return rank(a) < rank(b);
  });
  std::int64_t room = plan_.capacity_bytes - list_.needs[step].least_bytes;
  for (const std::uint32_t u : candidates_) {
    const std::int64_t more = list_.facts[u].bytes - list_.facts[u].least_bytes;
    if (more > room) {
      margin_.failed_by(more - room);
      continue;
    }
    room -= more;
    plan_.uses[u].place = Place::resident;
  }
}

void FarthestNextUse::make_room(StepId step, std::int64_t room) {
  while (kept_bytes_ > room) {
    margin_.failed_by(kept_bytes_ - room);
    const std::uint32_t rank = kept_.highest();
    const std::uint32_t use = use_at_[rank];
    let_go(use, step);
    kept_bytes_ -= links_[use].bytes;
    kept_.erase(rank);
  }
}

void FarthestNextUse::let_go(std::uint32_t use, StepId step) {
  plan_.uses[use].stays = false;
  plan_.uses[use].leaves_at = step;
}

void FarthestNextUse::keep(std::uint32_t u, StepId step) {
  UsePlan& plan = plan_.uses[u];
  plan.leaves_at = step + 1;
  if (links_[u].rank == no_use || plan.place == Place::streamed) return;
  plan.stays = true;
  kept_bytes_ += links_[u].bytes;
  kept_.insert(links_[u].rank);
}

// What was held whole in a step that does not fit, and was neither there before nor stays, would
// only delay its step.
void FarthestNextUse::stream_what_is_not_kept() {
  for (const StepId step : steps_in_rows_) {
    for (std::uint32_t u = list_.first_use(step); u < list_.first_use(step + 1); ++u) {
      if (plan_.uses[u].stays || was_kept(u) || list_.facts[u].must_be_whole) continue;
      plan_.uses[u].place = Place::streamed;
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
