// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recording_cost.hpp"

#include "strata/capture/call_budget.hpp"
#include "strata/capture/intervals.hpp"
#include "strata/capture/steps.hpp"

#include <algorithm>
#include <unordered_set>

namespace strata {
namespace {

/// How far the cost on another host may lie from that on the one where it was measured.
constexpr double least_factor = 0.6;
constexpr double most_factor = 1.6;

// ResNet-50 in training at batch 4 (bf16 by autocast) in PyTorch 2.11 on an H200: 933 launches and
// 24 ms a step. Its profiler makes that 22 % longer with CUDA alone, 58 % with operators.
constexpr double torch_launch_s = 0.22 * 24e-3 / 933;
constexpr double torch_operators_launch_s = 0.58 * 24e-3 / 933;

TimeInterval interval_around(double likely_s) {
  return {least_factor * likely_s, likely_s, most_factor * likely_s};
}

/// Work that one call started counts once: the nodes of a graph.
class LaunchCounter {
 public:
  void add(std::uint64_t correlation) {
    if (correlation == 0 || seen_.insert(correlation).second) ++count_;
  }
  std::int64_t count() const { return count_; }

 private:
  std::unordered_set<std::uint64_t> seen_;
  std::int64_t count_ = 0;
};

bool is_in(const TimeSpan& step, const TimeSpan& time) {
  return time.start_ns >= step.start_ns && time.start_ns < step.end_ns;
}

std::int64_t launches_in(const Recording& recording, const TimeSpan* step) {
  LaunchCounter counter;
  const auto add_all = [&](const auto& rows) {
    for (const auto& row : rows)
      if (step == nullptr || is_in(*step, row.time)) counter.add(row.correlation);
  };
  add_all(recording.kernels);
  add_all(recording.copies);
  add_all(recording.fills);
  return counter.count();
}

std::int64_t idle_ns_in(const Recording& recording, const TimeSpan& step) {
  std::vector<TimeSpan> busy;
  const auto add_all = [&](const auto& rows) {
    for (const auto& row : rows) busy.push_back(row.time);
  };
  add_all(recording.kernels);
  add_all(recording.copies);
  add_all(recording.fills);
  return step.length_ns() - Coverage(std::move(busy)).within(step);
}

/// At most the device stops waiting for as long as recording takes; at least the gaps shrink as the
/// time of the host does, of which recording is a part.
void add_step(const Recording& recording, const FoundSteps& steps, RecordingCost& cost) {
  const std::size_t step = median_step(steps);
  if (step == no_index) return;
  const TimeSpan* const span = &steps.spans[step];
  const auto launches = static_cast<double>(launches_in(recording, span));
  const double step_s = 1e-9 * static_cast<double>(span->length_ns());
  const double idle_s = 1e-9 * static_cast<double>(idle_ns_in(recording, *span));
  const auto most_saved = [&](double per_launch_s) {
    return std::min(idle_s, launches * per_launch_s);
  };
  const auto least_saved = [&](double per_launch_s) {
    return idle_s * std::min(1.0, launches * per_launch_s / step_s);
  };
  const double likely_s = cost.per_launch.likely_s;
  cost.step_s = step_s;
  cost.step_without = TimeInterval{step_s - most_saved(cost.per_launch.most_s),
                                   step_s - (least_saved(likely_s) + most_saved(likely_s)) / 2,
                                   step_s - least_saved(cost.per_launch.least_s)};
}

bool has_hip_calls(const Recording& recording) {
  return std::any_of(recording.calls.begin(), recording.calls.end(), [&](const ApiRecord& call) {
    return recording.names.text(call.name).starts_with("hip");
  });
}

/// Seconds per launch, and who says so; 0: nobody measured it.
double launch_cost_s(const Recording& recording, const RecordingCost& cost, std::string& source) {
  if (recording.process.source_format == "strata capture") {
    source =
        "empty kernels on an H200: 1.6 µs per launch with records of kernels, 0.3 µs per recorded "
        "call";
    return kernel_record_s +
           call_record_s * static_cast<double>(cost.calls) / static_cast<double>(cost.launches);
  }
  const bool has_operators =
      std::any_of(recording.ranges.begin(), recording.ranges.end(),
                  [](const RangeRecord& range) { return range.kind == RangeKind::framework; });
  if (recording.process.source_format != "Kineto JSON" || (!has_operators && cost.calls == 0))
    return 0;
  if (has_hip_calls(recording)) return 0;  // AMD's recorder is another one
  source =
      "PyTorch's profiler on ResNet-50 at batch 4 on an H200, 933 launches a step: +22 % with "
      "CUDA alone, +58 % with operators";
  return has_operators ? torch_operators_launch_s : torch_launch_s;
}

}  // namespace

std::optional<RecordingCost> recording_cost(const Recording& recording, const FoundSteps& steps) {
  RecordingCost cost;
  cost.launches = launches_in(recording, nullptr);
  cost.calls = static_cast<std::int64_t>(recording.calls.size());
  const bool has_times = recording.process.has_times && !recording.process.kernels_were_serialised;
  if (cost.launches == 0 || !has_times) return std::nullopt;
  const double each_s = launch_cost_s(recording, cost, cost.source);
  if (each_s <= 0) return std::nullopt;
  cost.per_launch = interval_around(each_s);
  cost.in_all = interval_around(each_s * static_cast<double>(cost.launches));
  if (steps.count > 0) add_step(recording, steps, cost);
  return cost;
}

}  // namespace strata
