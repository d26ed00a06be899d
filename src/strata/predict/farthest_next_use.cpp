// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/plan.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

// Belady's rule on whole tensors of unequal size: when a step needs room, the value whose next use
// is farthest leaves. The decision falls at the step that needs the room and is dated back to the
// value's last use, so that a look-ahead schedule can let it go right there.
namespace strata {
namespace {

class FarthestNextUse {
 public:
  FarthestNextUse(const AccessList& list, Plan plan)
      : list_(list), plan_(std::move(plan)), kept_use_(list.program.values.size(), no_use) {}

  Plan run() && {
    for (StepId step = 0; step < list_.program.steps.size(); ++step) run_step(step);
    stream_what_is_not_kept();
    return std::move(plan_);
  }

 private:
  void run_step(StepId step) {
    const std::uint32_t first = list_.program.steps[step].first_use;
    const auto end = first + static_cast<std::uint32_t>(list_.program.uses_of(step).size());
    const Fit fit = fit_of(list_.needs[step], plan_);
    if (fit == Fit::rows) choose_residents(step, first, end);

    std::int64_t held = 0;
    for (std::uint32_t u = first; u < end; ++u) {
      const Use& use = list_.program.uses[u];
      const std::int64_t bytes = list_.bytes_of(u);
      const bool is_resident = plan_.uses[u].place == Place::resident;
      held += is_resident ? bytes : least_bytes(list_.program, step, use);
      std::uint32_t& kept = kept_use_[use.value];
      if (kept == no_use) continue;
      if (!is_resident) let_go(kept, step);
      kept_bytes_ -= bytes;
      kept = no_use;
    }
    if (fit == Fit::slices) held = slicing_of(list_.program, step, plan_.capacity_bytes).held_bytes;
    make_room(step, std::max<std::int64_t>(0, plan_.capacity_bytes - held));
    for (std::uint32_t u = first; u < end; ++u) keep(u);
  }

  // A step that does not fit keeps what fits, tensor by tensor: first what is on chip already, then
  // what is used again soonest.
  void choose_residents(StepId step, std::uint32_t first, std::uint32_t end) {
    candidates_.clear();
    for (std::uint32_t u = first; u < end; ++u) {
      if (plan_.uses[u].place == Place::resident) continue;
      const bool is_on_chip = kept_use_[list_.program.uses[u].value] != no_use;
      if (is_on_chip || list_.is_reused(u)) candidates_.push_back(u);
    }
    std::sort(candidates_.begin(), candidates_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto rank = [&](std::uint32_t u) {
        const ValueId value = list_.program.uses[u].value;
        return std::tuple(kept_use_[value] == no_use, list_.next_step(u), value);
      };
      return rank(a) < rank(b);
    });
    std::int64_t room = plan_.capacity_bytes - list_.needs[step].least_bytes;
    for (const std::uint32_t u : candidates_) {
      const std::int64_t more =
          list_.bytes_of(u) - least_bytes(list_.program, step, list_.program.uses[u]);
      if (more > room) continue;
      room -= more;
      plan_.uses[u].place = Place::resident;
    }
  }

  void make_room(StepId step, std::int64_t room) {
    while (kept_bytes_ > room) {
      const StepId next = farthest_.top().first;
      const ValueId value = ~farthest_.top().second;
      farthest_.pop();
      const std::uint32_t kept = kept_use_[value];
      if (kept == no_use || list_.next_step(kept) != next) continue;  // an entry of the past
      let_go(kept, step);
      kept_bytes_ -= list_.bytes_of(kept);
      kept_use_[value] = no_use;
    }
  }

  void let_go(std::uint32_t use, StepId step) {
    plan_.uses[use].stays = false;
    plan_.uses[use].leaves_at = step;
  }

  void keep(std::uint32_t u) {
    plan_.uses[u].leaves_at = list_.step_of[u] + 1;
    if (plan_.uses[u].place == Place::streamed || !list_.is_reused(u)) return;
    plan_.uses[u].stays = true;
    const ValueId value = list_.program.uses[u].value;
    kept_use_[value] = u;
    kept_bytes_ += list_.bytes_of(u);
    farthest_.emplace(list_.next_step(u), ~value);
  }

  // What was held whole in a step that does not fit, and was neither there before nor stays, would
  // only delay its step.
  void stream_what_is_not_kept() {
    for (std::uint32_t u = 0; u < plan_.uses.size(); ++u) {
      const StepId step = list_.step_of[u];
      if (fit_of(list_.needs[step], plan_) != Fit::rows) continue;
      const std::uint32_t before = list_.previous[u];
      const bool was_kept = before != no_use && plan_.uses[before].stays;
      if (plan_.uses[u].stays || was_kept) continue;
      if (!must_be_whole(list_.program, step, list_.program.uses[u]))
        plan_.uses[u].place = Place::streamed;
    }
  }

  const AccessList& list_;
  Plan plan_;
  std::vector<std::uint32_t>
      kept_use_;  // by value: the use since which it stays; no_use: it does not
  std::int64_t kept_bytes_ = 0;
  // Next use, and the value with its bits turned over: of equally far ones the lower id goes first.
  std::priority_queue<std::pair<StepId, ValueId>> farthest_;
  std::vector<std::uint32_t> candidates_;
};

}  // namespace

Plan farthest_next_use_plan(const AccessList& list, std::int64_t capacity_bytes,
                            const PredictOptions& options) {
  return FarthestNextUse(list, empty_plan(list, capacity_bytes, options)).run();
}

}  // namespace strata
