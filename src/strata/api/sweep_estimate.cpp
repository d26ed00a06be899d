// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep_estimate.hpp"

#include "strata/api/sweep_state.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

namespace strata {
namespace {

constexpr int places = 5;
constexpr double most_s_per_place = 1;

// Of the processor: others who are at work now need not be when the sweep runs.
double seconds_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Sample {
  double making_s = 0;  // the first point: the program of the group is made for it
  double points_s = 0;  // all its points
};

// Along a line and not at places here and there: neighbours share work, and a plan for one capacity
// has to look at all that are smaller, once for every other point of a run. The line is followed as
// far as time allows; runs behind that take as long as the last one, as larger capacities take
// less.
Sample sample_of(const Sweep& sweep, std::int64_t group, const PointRange& range) {
  const std::int64_t in_run = std::min(range.in_run, range.in_group);
  const std::int64_t runs = range.in_group / in_run;
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  const std::int64_t first = group * range.in_group;
  const double begin_s = seconds_now();
  worker->at(first);
  Sample sample{.making_s = seconds_now() - begin_s};
  const std::int64_t middle = in_run / 2;
  const double walk_begin_s = seconds_now();
  double run_s = 0;
  std::int64_t run = 0;
  for (; run < runs && (run == 0 || seconds_now() - walk_begin_s < most_s_per_place); ++run) {
    const double start_s = seconds_now();
    worker->at(first + run * in_run + middle);  // decides for the run
    const double half_s = seconds_now();
    run_s = half_s - start_s;
    if (middle + 1 < in_run) {
      worker->at(first + run * in_run + middle + 1);
      run_s += static_cast<double>(in_run - 1) * (seconds_now() - half_s);
    }
    sample.points_s += run_s;
  }
  sample.points_s += static_cast<double>(runs - run) * run_s;
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
  for (int i = 0; i < places; ++i) {
    const std::int64_t group = (groups - 1) * i / std::max(1, places - 1);
    if (group == last) continue;
    last = group;
    const Sample sample = sample_of(sweep, group, range);
    making_s += sample.making_s;
    points_s += sample.points_s;
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
