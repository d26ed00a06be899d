// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/loads_ahead.hpp"

#include <algorithm>

namespace strata {
namespace {

/// Prefetch looks this far ahead; it bounds the cost of a decision, and nothing is needed from so
/// far away.
constexpr std::size_t most_steps_ahead = 1024;

}  // namespace

void LoadsAhead::reset(const PlannedSteps& plan, std::int64_t capacity_bytes) {
  plan_ = &plan;
  room_.reset(plan.occupied_bytes(), capacity_bytes);
  step_ = 0;
  window_end_ = 0;
  seen_ = room_.nothing();
  next_ = 0;
  look_from_ = 0;
  is_issued_.assign(plan.loads().size(), 0);
  is_eligible_.assign(plan.loads().size() / 64 + 1, 0);
  is_worth_a_look_.assign(plan.loads().size() / 64 + 1, 0);
}

void LoadsAhead::advance_to(StepId step, std::uint32_t ended_write_backs) {
  const std::size_t steps = plan_->steps().size() - 1;
  window_end_ = static_cast<StepId>(std::min(steps, std::size_t{step} + 1 + most_steps_ahead));
  step_ = step;
  if (step > 0) {
    const std::int64_t before = room_.in_current_step();
    room_.advance_to(step);
    // Unless the step that ended was the fullest, what was seen holds from this step on too.
    if (before <= seen_.least || seen_.end <= step) seen_ = room_.nothing();
    const StepId as_full =
        room_.in_current_step() <= before ? step : room_.first_at_most(window_end_, before);
    if (as_full > step)
      look_again(plan_->steps()[step + 1].first_load,
                 plan_->steps()[std::min<StepId>(as_full + 1, window_end_)].first_load);
  }
  const std::vector<std::uint32_t>& waiting = plan_->by_eligibility();
  for (; next_ < waiting.size(); ++next_) {
    const Load& load = plan_->loads()[waiting[next_]];
    if (load.eligible_at > step) break;
    if (load.after <= ended_write_backs) make_eligible(waiting[next_]);
  }
}

void LoadsAhead::write_back_ended(std::uint32_t write_back) {
  const std::uint32_t load = plan_->load_after(write_back);
  if (load != none && plan_->loads()[load].eligible_at <= step_) make_eligible(load);
}

void LoadsAhead::make_eligible(std::uint32_t load) {
  if (is_issued_[load] != 0) return;
  set(is_eligible_, load);
  set(is_worth_a_look_, load);
  look_from_ = std::min(look_from_, load);
}

void LoadsAhead::mark_issued(std::uint32_t load) {
  is_issued_[load] = 1;
  clear(is_eligible_, load);
  clear(is_worth_a_look_, load);
}

void LoadsAhead::mark_issued_ahead(std::uint32_t load) {
  const Load& issued = plan_->loads()[load];
  mark_issued(load);
  room_.take(issued.step, issued.bytes);
  if (seen_.end == issued.step) {  // taken from every step that was seen
    seen_.least -= issued.bytes;
    seen_.taken += issued.bytes;
  } else {
    seen_ = room_.nothing();
  }
}

// The eligible loads of [first, end).
void LoadsAhead::look_again(std::uint32_t first, std::uint32_t end) {
  look_from_ = std::min(look_from_, first);
  for (std::uint32_t word = first / 64; word * 64 < end; ++word)
    is_worth_a_look_[word] |= is_eligible_[word] & range_in(word, first, end);
}

}  // namespace strata
