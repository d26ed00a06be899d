// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep_estimate.hpp"

#include "strata/api/sweep_state.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

namespace strata {
namespace {

constexpr int places = 5;
constexpr double most_s_per_place = 0.3;
constexpr double most_s_for_two_runs = 1.5;

// Of the processor: others who are at work now need not be when the sweep runs.
double seconds_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// What a run takes: the points on one line through the group.
struct RunSample {
  double first_s = 0;  // the point that is looked at first, which decides for all
  double next_s = 0;   // one behind it
  double run_s(double points) const { return first_s + (points - 1) * next_s; }
};

struct Sample {
  double making_s = 0;  // the first point: the program of the group is made for it
  RunSample first;      // finds what those behind it share
  RunSample others;     // mean
};

// Along a line and not at places here and there: neighbours share work, and a plan for one capacity
// has to look at all that are smaller, once for every other point of a run.
Sample sample_of(const Sweep& sweep, std::int64_t group, const PointRange& range) {
  const std::int64_t in_run = std::min(range.in_run, range.in_group);
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  const std::int64_t first = group * range.in_group;
  const double begin_s = seconds_now();
  worker->at(first);
  Sample sample{.making_s = seconds_now() - begin_s, .first = {}, .others = {}};
  const std::int64_t middle = in_run / 2;
  std::int64_t others = 0;
  const double walk_begin_s = seconds_now();
  for (std::int64_t run = 0; run < range.in_group / in_run; ++run) {
    const double start_s = seconds_now();
    // A second run says what is shared, even if the first took long.
    const double most_s = others == 0 ? most_s_for_two_runs : most_s_per_place;
    if (run > 0 && start_s - walk_begin_s > most_s) break;
    RunSample now;
    worker->at(first + run * in_run + middle);
    const double half_s = seconds_now();
    now.first_s = half_s - start_s;
    if (middle + 1 < in_run) {
      worker->at(first + run * in_run + middle + 1);
      now.next_s = seconds_now() - half_s;
    }
    if (run == 0) {
      sample.first = now;
      continue;
    }
    sample.others.first_s += now.first_s;
    sample.others.next_s += now.next_s;
    ++others;
  }
  if (others == 0) {
    sample.others = sample.first;
  } else {
    sample.others.first_s /= static_cast<double>(others);
    sample.others.next_s /= static_cast<double>(others);
  }
  return sample;
}

}  // namespace

double estimated_time_s(const Sweep& sweep, std::int64_t first, std::int64_t workers) {
  const PointRange range = sweep.range(first);
  const std::int64_t groups = range.end / range.in_group;
  double making_s = 0;
  double points_s = 0;
  int count = 0;
  std::int64_t last = -1;
  const auto in_run = static_cast<double>(std::min(range.in_run, range.in_group));
  const double runs = static_cast<double>(range.in_group) / in_run;
  for (int i = 0; i < places; ++i) {
    const std::int64_t group = (groups - 1) * i / std::max(1, places - 1);
    if (group == last) continue;
    last = group;
    const Sample sample = sample_of(sweep, group, range);
    making_s += sample.making_s;
    points_s += sample.first.run_s(in_run) + (runs - 1) * sample.others.run_s(in_run);
    ++count;
  }
  const auto left = static_cast<double>(range.end - range.first);
  const double groups_left = left / static_cast<double>(range.in_group);
  // When a group has many chunks, every worker makes its program.
  const bool shares_groups = groups < workers;
  const auto sharing = static_cast<double>(workers);
  return groups_left / count * (making_s / (shares_groups ? 1.0 : sharing) + points_s / sharing);
}

}  // namespace strata
