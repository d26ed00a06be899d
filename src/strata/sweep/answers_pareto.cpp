// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/answers_pareto.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/sweep/answers_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace strata {
namespace {

/// The points of which at most the second and third number count; what was added before has a first
/// number that is no larger. Holds those that no other one covers: along rising second numbers the
/// third ones fall.
class Staircase {
 public:
  /// Whether a point that was added is at most equal to this one in both.
  bool covers(double second, double third) const {
    const auto above = steps_.upper_bound(second);
    return above != steps_.begin() && std::prev(above)->second <= third;
  }

  void add(double second, double third) {
    auto at = steps_.lower_bound(second);
    while (at != steps_.end() && at->second >= third) at = steps_.erase(at);
    steps_.emplace_hint(at, second, third);
  }

 private:
  std::map<double, double> steps_;
};

/// Points of a front found so far, compared one by one.
class PointList {
 public:
  explicit PointList(std::size_t dimension) : dimension_(dimension) {}

  bool covers(std::span<const double> point) {
    for (std::size_t at = 0; at < numbers_.size(); at += dimension_) {
      bool is_covered = true;
      for (std::size_t goal = 0; goal < dimension_ && is_covered; ++goal)
        is_covered = numbers_[at + goal] <= point[goal];
      if (!is_covered) continue;
      // What covers one point often covers the next: it is asked first.
      if (at > 0) std::swap_ranges(begin(at), begin(at + dimension_), begin(0));
      return true;
    }
    return false;
  }

  void add(std::span<const double> point) {
    numbers_.insert(numbers_.end(), point.begin(), point.end());
  }

 private:
  std::vector<double>::iterator begin(std::size_t at) {
    return numbers_.begin() + static_cast<std::ptrdiff_t>(at);
  }

  std::size_t dimension_;
  std::vector<double> numbers_;
};

constexpr std::string_view times_of_iteration[] = {
    "expected_s", "expected_low_s", "expected_high_s", "time_s", "compute_time_s", "stall_time_s"};

bool is_time_of_iteration(std::string_view column) {
  return std::find(std::begin(times_of_iteration), std::end(times_of_iteration), column) !=
         std::end(times_of_iteration);
}

/// What `--pareto` without columns asks for.
std::string_view usual_goals(const SweepTable& table) {
  bool has_expected = has_expected_times(table);
  for (const std::size_t axis : varying_axes(table))
    has_expected = has_expected && table.columns[axis].name != "capacity_bytes";
  return has_expected ? "expected_s,memory_bytes" : "time_s,capacity_bytes";
}

Goal read_goal(std::string_view text, const SweepTable& table, std::string_view what) {
  std::string_view name = trimmed(text);
  Goal goal;
  if (name.starts_with("max:") || name.starts_with("-")) {
    goal.is_most = true;
    name.remove_prefix(name[0] == '-' ? 1 : 4);
  } else if (name.starts_with("min:")) {
    name.remove_prefix(4);
  }
  if (trimmed(name).empty())
    fail(ErrorKind::usage, "{} expects columns like time_s,capacity or max:samples_per_s", what);
  goal.column = column_named(trimmed(name), formula_columns(table), what);
  if (!table.columns[goal.column].is_number)
    fail(ErrorKind::usage, "{}: column '{}' holds text, which is neither more nor less", what,
         table.columns[goal.column].name);
  return goal;
}

}  // namespace

std::vector<Goal> read_goals(std::string_view text, const SweepTable& table,
                             std::string_view what) {
  std::vector<Goal> goals;
  if (trimmed(text) == usual_goals_word) text = usual_goals(table);
  const bool varies = has_several_numbers(table, "samples");
  for (const std::string_view part : split(text, ',')) {
    Goal goal = read_goal(part, table, what);
    goal.is_per_sample = varies && is_time_of_iteration(table.columns[goal.column].name);
    for (const Goal& earlier : goals) {
      if (earlier.column == goal.column)
        fail(ErrorKind::usage, "{}: column '{}' is there twice", what,
             table.columns[goal.column].name);
    }
    goals.push_back(goal);
  }
  return goals;
}

std::vector<std::size_t> pareto_front(std::span<const double> points, std::size_t dimension) {
  STRATA_CHECK(dimension > 0 && points.size() % dimension == 0, "whole points");
  const auto point = [&](std::size_t index) {
    return points.subspan(index * dimension, dimension);
  };
  std::vector<std::size_t> order(points.size() / dimension);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto first = point(a);
    const auto second = point(b);
    return std::lexicographical_compare(first.begin(), first.end(), second.begin(), second.end());
  });

  // In this order no point is better than one before it, so each is judged once. Equal points come
  // one after the other and share the verdict.
  Staircase staircase;
  PointList list(dimension);
  std::vector<std::size_t> front;
  bool is_in = false;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const auto numbers = point(order[at]);
    if (at == 0 || !std::ranges::equal(numbers, point(order[at - 1]))) {
      const double second = dimension > 1 ? numbers[1] : 0;
      const double third = dimension > 2 ? numbers[2] : 0;
      is_in = !(dimension <= 3 ? staircase.covers(second, third) : list.covers(numbers));
      if (is_in && dimension <= 3) staircase.add(second, third);
      if (is_in && dimension > 3) list.add(numbers);
    }
    if (is_in) front.push_back(order[at]);
  }
  return front;
}

namespace {

/// A row's numbers, less being better; NaN where it has none.
void add_numbers(std::vector<double>& points, const SweepTable& table, std::span<const Goal> goals,
                 std::size_t row) {
  for (const Goal& goal : goals) {
    double number = table.columns[goal.column].number(row);
    if (goal.is_per_sample) number /= table.column("samples").number(row);
    points.push_back(goal.is_most ? -number : number);
  }
}

}  // namespace

std::vector<ParetoFront> pareto_fronts(const SweepTable& table, std::span<const Goal> goals) {
  const RowJudge judge(table);
  const bool asks_for_speed = std::any_of(goals.begin(), goals.end(), [&](const Goal& goal) {
    return table.columns[goal.column].name == "samples_per_s";
  });
  std::vector<ParetoFront> fronts;
  for (const RowGroup& network : groups_by_network(table)) {
    // Where some rows have an expected time, samples_per_s of the others is of another kind.
    const bool needs_expected = asks_for_speed && judge.has_expected(network);
    ParetoFront front;
    std::vector<double> points;
    std::vector<std::size_t> rows;
    for (const std::size_t row : network.rows) {
      const std::size_t before = points.size();
      add_numbers(points, table, goals, row);
      const bool is_whole = std::none_of(points.begin() + static_cast<std::ptrdiff_t>(before),
                                         points.end(), [](double x) { return std::isnan(x); });
      const bool is_too_large = is_whole && judge.is_out_of_memory(row);
      if (is_too_large) ++front.out_of_memory;
      if (is_whole && !is_too_large && (!needs_expected || judge.has_expected(row)))
        rows.push_back(row);
      else
        points.resize(before);
    }
    front.considered = rows.size();
    for (const std::size_t index : pareto_front(points, goals.size()))
      front.rows.push_back(rows[index]);
    fronts.push_back(std::move(front));
  }
  return fronts;
}

}  // namespace strata
