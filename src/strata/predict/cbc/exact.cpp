// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/exact.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/bounds/keep_intervals.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/cbc/integer_program.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strata {

namespace {

using Term = IntegerProgram::Term;

constexpr std::uint32_t no_column = ~std::uint32_t{0};

/// The choice of what to keep as an integer program. A column x per interval that may be kept; a
/// column y per use of a step that streams where it must be resident for either of two intervals;
/// a column w per version with several intervals, that it is written. Bytes are counted in the
/// largest unit that makes all of them whole numbers, which keeps the solver's roundings harmless.
struct KeepProblem {
  IntegerProgram program;
  std::vector<std::uint32_t> column_of;  ///< every interval's x
  std::int64_t unit_bytes = 1;
  std::int64_t nothing_kept_bytes = 0;  ///< the traffic of all x = 0
};

class KeepProblemBuilder {
 public:
  KeepProblemBuilder(const AccessList& list, const KeepIntervals& keep, const Plan& empty)
      : list_(list),
        keep_(keep),
        empty_(empty),
        kept_until_(list.program.uses.size(), no_column),
        kept_from_(list.program.uses.size(), no_column) {}

  KeepProblem build() {
    set_unit();
    problem_.nothing_kept_bytes = traffic_of(list_, empty_).total();
    add_intervals();
    add_versions();
    add_steps();
    return std::move(problem_);
  }

 private:
  double in_units(std::int64_t bytes) const {
    return static_cast<double>(bytes / problem_.unit_bytes);
  }

  void set_unit() {
    std::int64_t unit = 0;
    for (const Value& value : list_.program.values)
      unit = std::gcd(unit, std::gcd(value.bytes, value.row_bytes));
    problem_.unit_bytes = std::max<std::int64_t>(unit, 1);
  }

  bool is_sliced(StepId step) const {
    return fit_of(list_.needs[step], empty_.capacity_bytes) == Fit::slices;
  }

  void add_intervals() {
    for (const KeepInterval& interval : keep_.intervals) {
      problem_.column_of.push_back(no_column);
      if (is_sliced(interval.begin) || is_sliced(interval.end)) continue;
      const std::uint32_t x = problem_.program.add_column(-in_units(interval.bytes), true);
      problem_.column_of.back() = x;
      kept_from_[interval.first_use] = x;
      kept_until_[interval.last_use] = x;
    }
  }

  /// A version is written unless all of it is kept: w ≥ 1 − x. In terms of what is saved, 1 − w ≤
  /// x.
  void add_versions() {
    for (const ValueVersion& version : keep_.versions) {
      if (version.intervals == 0 || version.is_result) continue;
      const double bytes = in_units(version.bytes);
      const auto begin = problem_.column_of.begin() + version.first_interval;
      const std::vector<std::uint32_t> columns(begin, begin + version.intervals);
      if (std::find(columns.begin(), columns.end(), no_column) != columns.end()) continue;
      if (columns.size() == 1) {
        problem_.program.columns[columns[0]].cost -= bytes;
        continue;
      }
      const std::uint32_t saved = problem_.program.add_column(-bytes, false);
      for (const std::uint32_t x : columns) add_not_above(saved, x);
    }
  }

  /// `a` ≤ `b`.
  void add_not_above(std::uint32_t a, std::uint32_t b) {
    const Term terms[] = {{a, 1}, {b, -1}};
    problem_.program.add_row(-std::numeric_limits<double>::infinity(), terms, 0);
  }

  void add_steps() {
    passing_.clear();
    std::vector<std::vector<std::uint32_t>> begins(list_.program.steps.size());
    for (std::uint32_t i = 0; i < keep_.intervals.size(); ++i)
      if (problem_.column_of[i] != no_column) begins[keep_.intervals[i].begin].push_back(i);
    for (StepId step = 0; step < list_.program.steps.size(); ++step) {
      std::erase_if(passing_, [&](std::uint32_t i) { return keep_.intervals[i].end <= step; });
      add_step(step);
      passing_.insert(passing_.end(), begins[step].begin(), begins[step].end());
    }
  }

  /// What the step holds and what passes by do not exceed the capacity.
  void add_step(StepId step) {
    std::vector<Term> terms;
    for (const std::uint32_t i : passing_)
      terms.push_back({problem_.column_of[i], in_units(keep_.intervals[i].bytes)});
    std::int64_t room = empty_.capacity_bytes;
    switch (fit_of(list_.needs[step], empty_.capacity_bytes)) {
      case Fit::whole: room -= list_.needs[step].all_bytes; break;
      case Fit::rows:
        room -= list_.needs[step].least_bytes;
        add_residents(step, terms);
        break;
      case Fit::slices:
        room -= slicing_of(list_.program, step, empty_.capacity_bytes).held_bytes;
        break;
    }
    double most = 0;
    for (const Term& term : terms) most += term.factor;
    const double limit = std::floor(static_cast<double>(room / problem_.unit_bytes));
    if (most > limit)
      problem_.program.add_row(-std::numeric_limits<double>::infinity(), terms, limit);
  }

  /// What is kept until or from a step that streams is resident in it.
  void add_residents(StepId step, std::vector<Term>& terms) {
    std::uint32_t u = list_.program.steps[step].first_use;
    for (const Use& use : list_.program.uses_of(step)) {
      const std::int64_t more = list_.bytes_of(u) - least_bytes(list_.program, step, use);
      const std::uint32_t until = kept_until_[u];
      const std::uint32_t from = kept_from_[u++];
      if (more == 0 || (until == no_column && from == no_column)) continue;
      std::uint32_t resident = until == no_column ? from : until;
      if (until != no_column && from != no_column) {
        resident = problem_.program.add_column(0, false);
        add_not_above(until, resident);
        add_not_above(from, resident);
      }
      terms.push_back({resident, in_units(more)});
    }
  }

  const AccessList& list_;
  const KeepIntervals& keep_;
  const Plan& empty_;
  KeepProblem problem_;
  std::vector<std::uint32_t> kept_until_;  // every use's x of the interval that ends there
  std::vector<std::uint32_t> kept_from_;   // and of the one that begins
  std::vector<std::uint32_t> passing_;     // intervals that are under way
};

Plan plan_of(const KeepIntervals& keep, const KeepProblem& problem, const Plan& empty,
             const std::vector<double>& values) {
  Plan plan = empty;
  for (std::size_t i = 0; i < keep.intervals.size(); ++i) {
    const std::uint32_t x = problem.column_of[i];
    if (x == no_column || values[x] < 0.5) continue;
    const KeepInterval& interval = keep.intervals[i];
    plan.uses[interval.first_use].stays = true;
    plan.uses[interval.first_use].residency = Residency::resident;
    plan.uses[interval.last_use].residency = Residency::resident;
  }
  return plan;
}

std::vector<double> values_of(const KeepIntervals& keep, const KeepProblem& problem,
                              const Plan& plan) {
  std::vector<double> values(problem.program.columns.size());
  for (std::size_t i = 0; i < keep.intervals.size(); ++i)
    if (problem.column_of[i] != no_column && plan.uses[keep.intervals[i].first_use].stays)
      values[problem.column_of[i]] = 1;
  return values;
}

/// Every sum of bytes is a multiple of the unit, so a bound may be raised to the next one; a hair
/// below a multiple is that multiple and a rounding.
std::int64_t bound_in_bytes(const KeepProblem& problem, double bound) {
  const double units = std::ceil(bound - 1e-6 * std::max(1.0, std::abs(bound) * 1e-6));
  return (Count(problem.nothing_kept_bytes) +
          Count(static_cast<std::int64_t>(units)) * problem.unit_bytes)
      .value();
}

}  // namespace

ExactPlan exact_plan(const AccessList& list, std::int64_t capacity_bytes,
                     const PredictOptions& options, const ExactOptions& exact) {
  const Plan empty = empty_plan(list, capacity_bytes, options);
  const KeepIntervals keep = keep_intervals(list.program);
  const KeepProblem problem = KeepProblemBuilder(list, keep, empty).build();
  ExactPlan result{empty, traffic_of(list, empty).total(), 0};
  const auto consider = [&](const Plan& plan) {
    if (plan.capacity_bytes != capacity_bytes || !problems_of(list, plan).empty()) return;
    const std::int64_t traffic = traffic_of(list, plan).total();
    if (traffic < result.traffic_bytes) result = {plan, traffic, 0};
  };
  if (exact.start != nullptr) consider(*exact.start);

  // Of long programs the flow alone would take longer than many a time limit.
  result.bound_bytes = reason_against_bounds(list.program)
                           ? keep.compulsory_bytes
                           : just_this_capacity_traffic_bound(list.program, capacity_bytes);
  if (result.gap() <= exact.enough_gap) return result;
  const std::vector<double> start = values_of(keep, problem, result.plan);
  // Less than a unit is no gap at all.
  const double enough_units = exact.enough_gap * static_cast<double>(result.bound_bytes) /
                              static_cast<double>(problem.unit_bytes);
  const Solution solution = solve(
      problem.program,
      {.time_s = exact.time_limit_s, .enough_gap = std::max(0.999, enough_units), .start = start});
  const std::int64_t bound = std::max(result.bound_bytes, bound_in_bytes(problem, solution.bound));
  if (!solution.values.empty()) consider(plan_of(keep, problem, empty, solution.values));
  result.bound_bytes = std::min(bound, result.traffic_bytes);
  return result;
}

}  // namespace strata
