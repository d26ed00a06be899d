// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/planned_steps.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

// From which step on each load may be issued; asked by step. `listing` is the thesis's in prose:
// the latest step from which the compute time up to the load's own step covers it.
// `listing-printed` is its Listing 1: the loads of a step queue, each behind the whole steps of the
// one before it, and each is pushed to the step before those that cover it.
class Eligibility {
 public:
  Eligibility(const std::vector<double>& compute_s, double bytes_per_s, Prefetch prefetch,
              std::vector<double>& elapsed_s)
      : bytes_per_s_(bytes_per_s), prefetch_(prefetch), elapsed_s_(elapsed_s) {
    if (!goes_by_rates(prefetch)) return;
    elapsed_s_.clear();
    double elapsed = 0;
    for (const double step_s : compute_s) {
      elapsed_s_.push_back(elapsed);
      elapsed += step_s;
    }
  }

  StepId of(StepId step, std::int64_t bytes) {
    switch (prefetch_) {
      case Prefetch::none: return step;
      case Prefetch::next_layer: return step == 0 ? 0 : step - 1;
      case Prefetch::soonest: return 0;
      case Prefetch::listing: return covering(step, bytes);
      case Prefetch::listing_printed: break;
    }
    if (step != queue_of_) queue_from_ = queue_of_ = step;
    queue_from_ = covering(queue_from_, bytes);
    return queue_from_ == 0 ? 0 : queue_from_ - 1;
  }

 private:
  /// The latest step whose compute time, with that of the steps from it to `end`, covers a load.
  StepId covering(StepId end, std::int64_t bytes) const {
    const double latest = elapsed_s_[end] - static_cast<double>(bytes) / bytes_per_s_;
    const auto after = std::upper_bound(elapsed_s_.begin(), elapsed_s_.begin() + end, latest);
    return after == elapsed_s_.begin() ? 0 : static_cast<StepId>(after - elapsed_s_.begin()) - 1;
  }

  double bytes_per_s_ = 0;
  Prefetch prefetch_;
  StepId queue_of_ = never;         // the step whose loads queue
  StepId queue_from_ = 0;           // of the steps that cover them, the first
  std::vector<double>& elapsed_s_;  // compute time before each step
};

}  // namespace

void PlannedSteps::schedule(const Plan& plan, const PredictOptions& options,
                            const std::vector<double>& compute_s, double bytes_per_s) {
  const Program& program = list_.program;
  tolerated_bytes_ = plan.tolerated_bytes;
  refetch_bytes_ = plan.refetch_bytes;
  steps_.resize(program.steps.size());
  first_loads_.resize(program.steps.size() + 1);
  loads_.resize(program.uses.size());  // no plan has more
  left_at_.resize(program.uses.size());
  write_backs_.resize(program.uses.size());
  load_after_.resize(program.uses.size());
  load_count_ = write_back_count_ = 0;
  occupied_.resize(program.steps.size());
  held_.assign(program.values.size(), {});
  traffic_ = {};
  passing_bytes_ = 0;
  if (options.offload.value_or(Offload::look_ahead) == Offload::on_demand) {
    lingering_change_.assign(program.steps.size() + 1, 0);
    first_leaver_.assign(program.steps.size() + 1, no_use);
    next_leaver_.resize(program.uses.size());
    for (StepId step = 0; step < program.steps.size(); ++step) schedule_step<true>(plan, step);
  } else {
    for (StepId step = 0; step < program.steps.size(); ++step) schedule_step<false>(plan, step);
  }
  first_loads_.back() = load_count_;
  sizes_.reset(load_count_);
  for (std::uint32_t i = 0; i < load_count_; ++i) sizes_.add(i, loads_[i].bytes);
  sizes_.finish();
  set_prefetch(options.prefetch.value_or(Prefetch::soonest), compute_s, bytes_per_s);
}

template <bool is_on_demand>
void PlannedSteps::schedule_step(const Plan& plan, StepId step) {
  PlannedStep& planned = steps_[step];
  planned = {};
  first_loads_[step] = load_count_;
  planned.stream_in_bytes = refetch_bytes(step);
  if constexpr (is_on_demand) {
    passing_bytes_ += lingering_change_[step];
    let_leave_on_demand(step, planned);
  }
  planned.queued_before = write_back_count_;
  std::int64_t held = 0;
  std::int64_t passes_on = 0;
  for (const std::uint32_t u : list_.uses_by_value(step)) {
    const AccessList::Facts& use = list_.facts[u];
    const UsePlan& how = plan.uses[u];
    if (how.residency == Residency::streamed) {
      held += use.least_bytes;
      schedule_streamed(u, planned);
      continue;
    }
    held += use.bytes;
    if (use.before != no_use && plan.uses[use.before].stays) {
      passing_bytes_ -= use.bytes;
    } else if (use.reads) {
      schedule_load<is_on_demand>(plan, use, step);
    } else {
      planned.outputs_bytes += use.bytes;
    }
    if (use.writes) held_[use.value].is_dirty = true;
    if (how.stays) {
      passes_on += use.bytes;
    } else if (is_on_demand && use.is_reused) {
      linger(u, how.leaves_at, step);
    } else {
      let_leave(use, step, planned.freed_after_bytes);
    }
  }
  planned.queued_after = write_back_count_;
  if (fit_of(list_.needs[step], plan) == Fit::slices) {
    held -= planned.rows_bytes;
    planned.rows_bytes = slicing_of(list_.program, step, plan.capacity_bytes).held_bytes;
    held += planned.rows_bytes;
  }
  traffic_.in_bytes += planned.stream_in_bytes;
  traffic_.out_bytes += planned.stream_out_bytes;
  occupied_[step] = passing_bytes_ + held;
  passing_bytes_ += passes_on;
}

std::int64_t PlannedSteps::last_write_back_bytes() const {
  if (steps_.empty()) return 0;
  std::int64_t bytes = 0;
  for (std::uint32_t at = steps_.back().queued_before; at < write_back_count_; ++at)
    bytes += write_backs_[at].bytes;
  return bytes;
}

// All that is loaded ahead for a step lies on chip while the step before it runs.
std::int64_t PlannedSteps::late_bytes(StepId step, std::int64_t capacity_bytes) const {
  const std::int64_t room = step == 0 ? 0 : capacity_bytes - occupied_[step - 1];
  std::int64_t all = 0;
  std::int64_t too_large = 0;
  for (std::uint32_t load = first_loads_[step]; load < first_loads_[step + 1]; ++load) {
    const std::int64_t bytes = loads_[load].bytes;
    all += bytes;
    if (bytes > room) too_large += bytes;
  }
  return std::max(too_large, all - std::max<std::int64_t>(room, 0));
}

void PlannedSteps::schedule_streamed(std::uint32_t u, PlannedStep& planned) {
  const AccessList::Facts& use = list_.facts[u];
  planned.rows_bytes += use.least_bytes;
  if (use.reads) {
    planned.stream_in_bytes += use.bytes;
    planned.stream_after = std::max(planned.stream_after, held_[use.value].last_write_back);
  }
  if (use.writes && use.is_live) planned.stream_out_bytes += use.bytes;
  std::uint32_t& largest = planned.largest_streamed;
  const auto bytes = [&](std::uint32_t of) { return list_.facts[of].bytes; };
  if (largest == no_use || bytes(u) > bytes(largest) || (bytes(u) == bytes(largest) && u < largest))
    largest = u;
}

// Behind its step it stays until it leaves on demand.
void PlannedSteps::linger(std::uint32_t u, StepId leaves_at, StepId step) {
  lingering_change_[step + 1] += list_.facts[u].bytes;
  lingering_change_[leaves_at] -= list_.facts[u].bytes;
  next_leaver_[u] = first_leaver_[leaves_at];
  first_leaver_[leaves_at] = u;
}

template <bool is_on_demand>
void PlannedSteps::schedule_load(const Plan& plan, const AccessList::Facts& use, StepId step) {
  const std::uint32_t before = use.before;
  StepId has_left = 0;  // from this step on it is off chip
  if (before != no_use) {
    const bool lingers = is_on_demand && plan.uses[before].residency == Residency::resident;
    has_left = lingers ? plan.uses[before].leaves_at : list_.step_of[before] + 1;
  }
  const std::uint32_t after = held_[use.value].last_write_back;
  // A later load of the same version finds the write-back ended.
  if (after > 0 && load_after_[after - 1] == no_load) load_after_[after - 1] = load_count_;
  traffic_.in_bytes += use.bytes;
  left_at_[load_count_] = has_left;
  loads_[load_count_++] = {.bytes = use.bytes,
                           .step = step,
                           .after = after,
                           .eligible_at = has_left,
                           .value = use.value};
}

void PlannedSteps::let_leave(const AccessList::Facts& use, StepId step, std::int64_t& freed_bytes) {
  Held& held = held_[use.value];
  const bool is_written = held.is_dirty && use.is_live;
  held.is_dirty = false;
  if (!is_written) {
    freed_bytes += use.bytes;
    return;
  }
  traffic_.out_bytes += use.bytes;
  write_backs_[write_back_count_] = {use.bytes, use.value, step};
  load_after_[write_back_count_] = no_load;
  held.last_write_back = ++write_back_count_;
}

// Of what leaves at the same moment, the lower value goes first.
void PlannedSteps::let_leave_on_demand(StepId step, PlannedStep& planned) {
  leavers_.clear();
  for (std::uint32_t u = first_leaver_[step]; u != no_use; u = next_leaver_[u])
    leavers_.push_back(u);
  std::sort(leavers_.begin(), leavers_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return list_.facts[a].value < list_.facts[b].value;
  });
  for (const std::uint32_t u : leavers_)
    let_leave(list_.facts[u], list_.step_of[u], planned.freed_before_bytes);
}

void PlannedSteps::set_prefetch(Prefetch prefetch, const std::vector<double>& compute_s,
                                double bytes_per_s) {
  prefetch_ = prefetch;
  Eligibility eligibility(compute_s, bytes_per_s, prefetch, elapsed_s_);
  count_.assign(steps_.size() + 1, 0);
  for (std::uint32_t i = 0; i < load_count_; ++i) {
    Load& load = loads_[i];
    load.eligible_at = std::max(left_at_[i], eligibility.of(load.step, load.bytes));
    ++count_[load.eligible_at];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& entry : count_) sum += std::exchange(entry, sum);
  by_eligibility_.resize(load_count_);
  for (std::uint32_t i = 0; i < load_count_; ++i)
    by_eligibility_[count_[loads_[i].eligible_at]++] = i;
}

}  // namespace strata
