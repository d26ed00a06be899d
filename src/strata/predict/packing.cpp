// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/packing.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace strata {

Margin Packing::start(std::int64_t capacity_bytes, const PredictOptions& options) {
  const Margin margin = fill_empty_plan(plan_, list_, capacity_bytes, options);
  for (std::uint32_t u = 0; u < plan_.uses.size(); ++u)
    plan_.uses[u].leaves_at = list_.step_of[u] + 1;
  free_.reset(occupied_bytes(list_, plan_), capacity_bytes);
  return margin;
}

bool Packing::is_possible(std::uint32_t use) const {
  if (!list_.is_reused(use)) return false;
  const auto is_sliced = [&](StepId step) {
    return fit_of(list_.needs[step], plan_) == Fit::slices;
  };
  return !is_sliced(list_.step_of[use]) && !is_sliced(list_.next_step(use));
}

std::int64_t Packing::more_when_whole(std::uint32_t use) const {
  if (plan_.uses[use].residency == Residency::resident) return 0;
  return list_.facts[use].bytes - list_.facts[use].least_bytes;
}

std::int64_t Packing::missing_bytes(std::uint32_t use) const {
  const StepId from = list_.step_of[use];
  const StepId to = list_.next_step(use);
  const std::int64_t between = list_.bytes_of(use) - free_.least(from + 1, to);
  const std::int64_t at_ends = std::max(more_when_whole(use) - free_.least(from, from + 1),
                                        more_when_whole(list_.next[use]) - free_.least(to, to + 1));
  return std::max(between, at_ends);
}

bool Packing::fits(std::uint32_t use) const { return missing_bytes(use) <= 0; }

StepId Packing::shortage(std::uint32_t use) const {
  const StepId from = list_.step_of[use];
  const StepId to = list_.next_step(use);
  if (free_.least(from, from + 1) < more_when_whole(use)) return from;
  if (free_.least(to, to + 1) < more_when_whole(list_.next[use])) return to;
  const std::size_t step = free_.first_below(from + 1, to, list_.bytes_of(use));
  return from + 1 < to && step < to ? static_cast<StepId>(step) : never;
}

bool Packing::takes_room_in(std::uint32_t use, StepId step) const {
  const StepId from = list_.step_of[use];
  const StepId to = list_.next_step(use);
  if (from < step && step < to) return true;
  if (step != from && step != to) return false;
  const std::uint32_t end = step == from ? use : list_.next[use];
  return fit_of(list_.needs[step], plan_) == Fit::rows &&
         !must_be_whole(list_.program, step, list_.program.uses[end]);
}

void Packing::make_resident(std::uint32_t use) {
  const StepId step = list_.step_of[use];
  free_.take(step, step + 1, more_when_whole(use));
  plan_.uses[use].residency = Residency::resident;
}

bool Packing::needs_residence(std::uint32_t use) const {
  const std::uint32_t before = list_.previous[use];
  const StepId step = list_.step_of[use];
  return plan_.uses[use].stays || (before != no_use && plan_.uses[before].stays) ||
         fit_of(list_.needs[step], plan_) != Fit::rows ||
         must_be_whole(list_.program, step, list_.program.uses[use]);
}

void Packing::make_streamed_unless_kept(std::uint32_t use) {
  if (needs_residence(use)) return;
  plan_.uses[use].residency = Residency::streamed;
  const StepId step = list_.step_of[use];
  free_.take(step, step + 1, -more_when_whole(use));
}

void Packing::keep(std::uint32_t use) {
  make_resident(use);
  make_resident(list_.next[use]);
  free_.take(list_.step_of[use] + 1, list_.next_step(use), list_.bytes_of(use));
  plan_.uses[use].stays = true;
}

void Packing::release(std::uint32_t use) {
  plan_.uses[use].stays = false;
  free_.take(list_.step_of[use] + 1, list_.next_step(use), -list_.bytes_of(use));
  make_streamed_unless_kept(use);
  make_streamed_unless_kept(list_.next[use]);
}

Packer::Packer(const AccessList& list, const PredictOptions& options,
               const std::vector<double>& worth_of_use)
    : list_(list), options_(options), packing_(list) {
  std::vector<double> rank(list.facts.size(), 0);
  for (std::uint32_t u = 0; u < list.facts.size(); ++u) {
    if (!list.is_reused(u)) continue;
    const StepId steps_between = list.next_step(u) - list.step_of[u] - 1;
    const double price = static_cast<double>(list.bytes_of(u)) * (steps_between + 0.01);
    rank[u] = price > 0 ? worth_of_use[u] / price : 1e300;
    candidates_.push_back(u);
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return rank[a] > rank[b]; });
}

const Plan& Packer::at(std::int64_t capacity_bytes) {
  margin_ = packing_.start(capacity_bytes, options_);
  for (const std::uint32_t use : candidates_) {
    if (!packing_.is_possible(use)) continue;
    const std::int64_t missing = packing_.missing_bytes(use);
    if (missing > 0) {
      margin_.grow_needed(missing);
    } else {
      packing_.keep(use);
    }
  }
  return packing_.plan();
}

Plan packed_plan(const AccessList& list, std::int64_t capacity_bytes, const PredictOptions& options,
                 const std::vector<double>& worth_of_use) {
  return Packer(list, options, worth_of_use).at(capacity_bytes);
}

}  // namespace strata
