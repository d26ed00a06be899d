// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/count_layers.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace strata {
namespace {

struct CountingInterrupted {};

void leave_out_patched(CounterPlan& plan) {
  for (const PlannedSession& session : plan.sessions) {
    if (!session.is_sass) continue;
    for (const PlannedColumn& column : session.columns)
      plan.absent.push_back({column.key, "left out: it takes kernels that are patched"});
  }
  std::erase_if(plan.sessions, [](const PlannedSession& session) { return session.is_sass; });
}

void keep_sessions(CounterPlan& plan, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::erase_if(plan.sessions, [&](const PlannedSession& session) {
    return std::find(names.begin(), names.end(), session.name) == names.end();
  });
}

class CountingRun {
 public:
  CountingRun(TrainingMeasurement& result, const LayerCounting& counting)
      : result_(result), counting_(counting), profile_counters_(result.profile.counters) {}

  void count() {
    profile_counters_.preset = counting_.options.metrics;
    if (result_.is_interrupted) {
      profile_counters_.reason = "interrupted";
      return;
    }
    profile_counters_.reason = reason_for_failure([&] { open_and_count(); });
    if (!profile_counters_.reason.empty() || !counters_ || !counting_.options.counts_kernels)
      return;
    profile_counters_.no_kernels_reason = reason_for_failure([&] { count_kernels(); });
  }

 private:
  /// Calls the function. Returns the error message if it fails, else nothing.
  template <class Function>
  std::string reason_for_failure(const Function& function) {
    try {
      function();
    } catch (const CountingInterrupted&) {
      result_.is_interrupted = true;
      return "interrupted";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::environment && error.kind() != ErrorKind::unsupported) throw;
      return error.what();
    }
    return "";
  }

  void open_and_count() {
    counters_ = counting_.device.counters();
    plan_ = counters_->plan(profile_counters_.preset);
    keep_sessions(plan_, counting_.options.sessions);
    if (!counting_.options.patches_kernels) leave_out_patched(plan_);
    const CounterCost cost = counters_->cost(plan_);
    const std::size_t ranges = counting_.engine.running().size();
    if (counting_.hooks.on_counting)
      counting_.hooks.on_counting(cost, least_seconds(cost, median_run_s(), ranges));
    runs_ = static_cast<std::size_t>(cost.passes) + 1;  // the first tells the ranges
    const CounterTable table = counted([&](std::size_t first, std::size_t last) {
      return counters_->count(plan_, work("counting", first, last));
    });
    profile_counters_.source = fmt::format("{}: {}", table.chip, to_text(cost));
    profile_counters_.columns = table.columns;
    profile_counters_.absent = table.absent;
    std::vector<CounterSum> sums(result_.profile.rows.size(), CounterSum(table.columns));
    std::vector<bool> is_counted(sums.size(), false);
    for (const RangeCounts& range : table.ranges) {
      const std::size_t row = row_of(range);
      sums[row].add(range.values);
      is_counted[row] = true;
    }
    for (std::size_t row = 0; row < sums.size(); ++row) {
      if (is_counted[row]) result_.profile.rows[row].counters = sums[row].values();
    }
  }

  void count_kernels() {
    done_ = 0;
    const CounterTable table = counted([&](std::size_t first, std::size_t last) {
      return counters_->count_kernels(plan_, work("counting kernels", first, last));
    });
    for (const RangeCounts& range : table.ranges)
      result_.profile.counted_kernels.push_back({range.kernel, row_of(range), range.values});
  }

  std::size_t row_of(const RangeCounts& range) const {
    const auto part = static_cast<std::size_t>(parse_whole_number(range.range, "a range", 0));
    STRATA_CHECK(part < counting_.row_of.size(), "a range is named after its part");
    return counting_.row_of[part];
  }

  double median_run_s() const {
    double sum_s = 0;
    for (const ProfileRow& row : result_.profile.rows)
      sum_s += row.wall_s.value_or(row.totals.time_s);
    return sum_s;
  }

  /// All parts at once or, where a profiler cannot hold so many ranges, group by group.
  template <class Count>
  CounterTable counted(const Count& count) {
    constexpr std::size_t few = 100;
    const std::size_t all = counting_.engine.running().size();
    try {
      return count(0, all);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::environment || all <= few) throw;
    }
    CounterTable table;
    for (std::size_t first = 0; first < all; first += few) {
      CounterTable group = count(first, std::min(first + few, all));
      std::vector<RangeCounts> ranges = std::move(table.ranges);
      std::move(group.ranges.begin(), group.ranges.end(), std::back_inserter(ranges));
      table = std::move(group);
      table.ranges = std::move(ranges);
    }
    return table;
  }

  /// An iteration with the running parts first … last as ranges.
  CountedWork work(std::string_view phase, std::size_t first, std::size_t last) {
    return [this, phase, first, last](RangeMarks& marks) {
      if (counting_.hooks.on_progress) counting_.hooks.on_progress(phase, done_++, runs_);
      if (counting_.hooks.is_interrupted && counting_.hooks.is_interrupted())
        throw CountingInterrupted();
      std::size_t at = 0;
      counting_.engine.iterate_in_pieces(
          [&](std::size_t part) {
            if (at >= first && at < last) marks.push(fmt::format("{}", part));
          },
          [&] {
            if (at >= first && at < last) marks.pop();
            ++at;
          });
    };
  }

  TrainingMeasurement& result_;
  const LayerCounting& counting_;
  ProfileCounters& profile_counters_;
  std::unique_ptr<RangeCounters> counters_;
  CounterPlan plan_;
  std::size_t runs_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

std::unique_ptr<RangeCounters> TrainingDevice::counters() {
  fail(ErrorKind::environment, "{} has no counters that Strata reads", name());
}

void count_layers(TrainingMeasurement& result, const LayerCounting& counting) {
  if (counting.options.metrics == "time") return;
  CountingRun(result, counting).count();
}

}  // namespace strata
