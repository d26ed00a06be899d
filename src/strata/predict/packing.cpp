// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/packing.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace strata {
namespace {

std::vector<std::int64_t> free_bytes(const AccessList& list, const Plan& plan) {
  std::vector<std::int64_t> free = occupied_bytes(list, plan);
  for (std::int64_t& bytes : free) bytes = plan.capacity_bytes - bytes;
  return free;
}

}  // namespace

Packing::Packing(const AccessList& list, Plan empty)
    : list_(list), plan_(std::move(empty)), free_(free_bytes(list, plan_)) {
  for (std::uint32_t u = 0; u < plan_.uses.size(); ++u)
    plan_.uses[u].leaves_at = list_.step_of[u] + 1;
}

bool Packing::is_possible(std::uint32_t use) const {
  if (!list_.is_reused(use)) return false;
  const auto is_sliced = [&](StepId step) {
    return fit_of(list_.needs[step], plan_) == Fit::slices;
  };
  return !is_sliced(list_.step_of[use]) && !is_sliced(list_.next_step(use));
}

std::int64_t Packing::more_when_whole(std::uint32_t use) const {
  if (plan_.uses[use].place == Place::resident) return 0;
  return list_.bytes_of(use) -
         least_bytes(list_.program, list_.step_of[use], list_.program.uses[use]);
}

bool Packing::fits(std::uint32_t use) const {
  const StepId from = list_.step_of[use];
  const StepId to = list_.next_step(use);
  return free_.least(from, from + 1) >= more_when_whole(use) &&
         free_.least(to, to + 1) >= more_when_whole(list_.next[use]) &&
         free_.least(from + 1, to) >= list_.bytes_of(use);
}

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
  plan_.uses[use].place = Place::resident;
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
  plan_.uses[use].place = Place::streamed;
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

Plan packed_plan(const AccessList& list, std::int64_t capacity_bytes, const PredictOptions& options,
                 const std::vector<double>& worth_of_use) {
  Packing packing(list, empty_plan(list, capacity_bytes, options));
  struct Candidate {
    double rank = 0;
    std::uint32_t use = 0;
  };
  std::vector<Candidate> candidates;
  for (std::uint32_t u = 0; u < list.program.uses.size(); ++u) {
    if (!packing.is_possible(u)) continue;
    const StepId steps_between = list.next_step(u) - list.step_of[u] - 1;
    const double price = static_cast<double>(list.bytes_of(u)) * (steps_between + 0.01);
    candidates.push_back({price > 0 ? worth_of_use[u] / price : 1e300, u});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.rank > b.rank; });
  for (const Candidate& candidate : candidates) {
    if (packing.fits(candidate.use)) packing.keep(candidate.use);
  }
  return packing.plan();
}

}  // namespace strata
