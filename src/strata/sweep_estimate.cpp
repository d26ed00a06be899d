// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep_estimate.hpp"

#include "strata/sweep_parts.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

namespace strata {
namespace {

constexpr int places = 5;
constexpr std::int64_t neighbours = 40;
constexpr std::int64_t most_warming = 16;
constexpr double most_s_per_place = 0.2;

// Of the processor: others who are at work now need not be when the sweep runs.
double seconds_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Sample {
  double first_s = 0;  // the first point of a group: its program is made for it
  double next_s = 0;   // each point behind it
};

// Neighbours, because they share work: a point alone says too much, and so do the first ones in the
// middle of nowhere, for which all that is smaller has to be looked at.
Sample sample_at(const Sweep& sweep, std::int64_t group, const PointRange& range) {
  const std::int64_t in_group = range.in_group;
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  const std::int64_t first = group * in_group;
  const double begin_s = seconds_now();
  worker->at(first);
  const double first_s = seconds_now() - begin_s;
  // From the middle on, where plans are neither trivial nor hopeless.
  std::int64_t point = first + in_group / 2;
  const double warming_begin_s = seconds_now();
  const std::int64_t warm =
      std::min(point + std::min(range.in_run, most_warming), first + in_group);
  while (point < warm && point + 1 < first + in_group &&
         seconds_now() - warming_begin_s < most_s_per_place) {
    worker->at(point++);
  }
  std::int64_t count = 0;
  const double next_begin_s = seconds_now();
  while (count < neighbours && point < first + in_group &&
         seconds_now() - next_begin_s < most_s_per_place) {
    worker->at(point++);
    ++count;
  }
  const double next_s = count > 0 ? (seconds_now() - next_begin_s) / static_cast<double>(count) : 0;
  return {first_s, next_s};
}

}  // namespace

double estimated_time_s(const Sweep& sweep, std::int64_t first, std::int64_t workers) {
  const PointRange range = sweep.range(first);
  const std::int64_t groups = range.end / range.in_group;
  Sample sum;
  int count = 0;
  std::int64_t last = -1;
  for (int i = 0; i < places; ++i) {
    const std::int64_t group = (groups - 1) * i / std::max(1, places - 1);
    if (group == last) continue;
    last = group;
    const Sample sample = sample_at(sweep, group, range);
    sum.first_s += sample.first_s;
    sum.next_s += sample.next_s;
    ++count;
  }
  const auto left = static_cast<double>(range.end - range.first);
  const double group_share = left / static_cast<double>(range.in_group);
  // When a group has many chunks, every worker makes its program.
  const double per_group_s = sum.first_s / count;
  const double per_point_s = sum.next_s / count;
  const bool shares_groups = groups < workers;
  const double making_s =
      group_share * per_group_s / (shares_groups ? 1.0 : static_cast<double>(workers));
  return making_s + (left - group_share) * per_point_s / static_cast<double>(workers);
}

}  // namespace strata
