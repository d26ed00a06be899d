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
  loads_ = plan.loads().data();
  behind_step_ = 0;
  window_loads_ = 0;
  seen_ = room_.nothing();
  next_ = 0;
  look_from_ = 0;
  dormant_end_ = 0;
  is_issued_.assign(plan.loads().size(), 0);
  is_eligible_.assign(plan.loads().size() / 64 + 1, 0);
  is_worth_a_look_.assign(plan.loads().size() / 64 + 1, 0);
}

void LoadsAhead::advance_to(StepId step, std::uint32_t ended_write_backs) {
  const std::vector<std::uint32_t>& first_loads = plan_->first_loads();
  window_loads_ =
      first_loads[std::min(first_loads.size() - 1, std::size_t{step} + 1 + most_steps_ahead)];
  behind_step_ = first_loads[step + 1];
  step_ = step;
  if (step > 0) {
    const std::int64_t before = room_.in_current_step();
    room_.advance_to(step);
    // Unless the step that ended was the fullest, what was seen holds from this step on too.
    if (before <= seen_.least || seen_.end <= step) seen_ = room_.nothing();
    if (dormant_end_ > behind_step_ && room_.in_current_step() > before) wake_loads(before);
  }
  const std::vector<std::uint32_t>& waiting = plan_->by_eligibility();
  for (; next_ < waiting.size(); ++next_) {
    const Load& load = loads_[waiting[next_]];
    if (load.eligible_at > step) break;
    if (load.after <= ended_write_backs) make_eligible(waiting[next_]);
  }
}

void LoadsAhead::mark_issued_ahead(std::uint32_t load) {
  const Load& issued = loads_[load];
  mark_issued(load);
  room_.take(issued.step, issued.bytes);
  if (seen_.end == issued.step) {  // taken from every step that was seen
    seen_.least -= issued.bytes;
    seen_.taken += issued.bytes;
  } else {
    seen_ = room_.nothing();
  }
}

// The step that ended had so much room: there is more now up to the first step that has no more.
void LoadsAhead::wake_loads(std::int64_t before_bytes) {
  const StepId last = loads_[dormant_end_ - 1].step;
  const StepId as_full = room_.first_at_most(last, before_bytes);
  if (as_full < last) {
    look_again(behind_step_, plan_->first_loads()[as_full + 1]);
  } else {
    look_again(behind_step_, dormant_end_);
    dormant_end_ = 0;
  }
}

// The eligible loads of [first, end).
void LoadsAhead::look_again(std::uint32_t first, std::uint32_t end) {
  look_from_ = std::min(look_from_, first);
  for (std::uint32_t word = first / 64; word * 64 < end; ++word)
    is_worth_a_look_[word] |= is_eligible_[word] & range_in(word, first, end);
}

}  // namespace strata
