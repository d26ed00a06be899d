// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recorded_step.hpp"

#include "strata/capture/idle_times.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace strata {
namespace {

double step_seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

/// Copies and fills of the devices on which these kernels ran.
Coverage moves_beside(const Recording& recording, const std::vector<RowKernel>& kernels) {
  std::vector<TimeSpan> moves;
  std::map<std::uint32_t, bool> devices;
  for (const RowKernel& one : kernels) devices[recording.kernels[one.kernel].device] = true;
  for (const CopyRecord& copy : recording.copies)
    if (devices.contains(copy.device)) moves.push_back(copy.time);
  for (const FillRecord& fill : recording.fills)
    if (devices.contains(fill.device)) moves.push_back(fill.time);
  return Coverage(std::move(moves));
}

/// Each row's part of the time in which kernels ran: a moment in which k of them run counts 1/k for
/// the row of each.
std::vector<double> shared_times_s(const Recording& recording,
                                   const std::vector<RowKernel>& kernels, std::size_t rows) {
  std::vector<std::tuple<std::int64_t, bool, std::size_t>> changes;  // ends before starts
  for (const RowKernel& one : kernels) {
    const TimeSpan time = recording.kernels[one.kernel].time;
    if (time.length_ns() <= 0) continue;
    changes.emplace_back(time.start_ns, true, one.row);
    changes.emplace_back(time.end_ns, false, one.row);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<double> times_s(rows, 0);
  std::map<std::size_t, std::size_t> running;  // kernels by row
  std::size_t at_once = 0;
  std::int64_t since = 0;
  for (const auto& [moment, is_start, row] : changes) {
    for (const auto& [other, count] : running)
      times_s[other] +=
          step_seconds(moment - since) * static_cast<double>(count) / static_cast<double>(at_once);
    if (is_start) {
      ++running[row];
      ++at_once;
    } else {
      if (--running[row] == 0) running.erase(row);
      --at_once;
    }
    since = moment;
  }
  return times_s;
}

}  // namespace

void set_recorded_step(const Recording& recording, const KernelOrigins& origins,
                       const std::vector<RowKernel>& kernels, bool is_step, Profile& profile) {
  const ProcessInfo& process = recording.process;
  if (!process.has_times || process.kernels_were_serialised || kernels.empty()) return;
  std::vector<std::size_t> by_start;
  std::int64_t sum_ns = 0;
  for (const RowKernel& one : kernels) {
    by_start.push_back(one.kernel);
    sum_ns += recording.kernels[one.kernel].time.length_ns();
  }
  std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
    return recording.kernels[a].time.start_ns < recording.kernels[b].time.start_ns;
  });
  const IdleTimes idle(recording, origins);
  const IdleTally tally = idle.between(by_start, moves_beside(recording, kernels));
  if (tally.span.length_ns() <= 0) return;
  RecordedStep step;
  std::int64_t idle_ns = 0;
  for (std::size_t i = 0; i < idle_causes; ++i) {
    idle_ns += tally.idle_ns[i];
    if (tally.idle_ns[i] > 0)
      step.idle.push_back(
          {std::string(name_of(static_cast<IdleCause>(i))), step_seconds(tally.idle_ns[i])});
  }
  std::stable_sort(step.idle.begin(), step.idle.end(),
                   [](const IdleShare& a, const IdleShare& b) { return a.time_s > b.time_s; });
  const std::int64_t busy_ns = tally.span.length_ns() - idle_ns;
  step.busy_s = step_seconds(busy_ns);
  if (const auto host_ns = idle.host_ns(by_start)) step.host_s = step_seconds(*host_ns);
  profile.iteration_s = step_seconds(tally.span.length_ns());
  profile.iteration_from = is_step ? TimeFrom::step : TimeFrom::recording;
  profile.recorded = std::move(step);
  if (sum_ns == busy_ns) return;
  const std::vector<double> times_s = shared_times_s(recording, kernels, profile.rows.size());
  for (std::size_t i = 0; i < times_s.size(); ++i) profile.rows[i].step_s = times_s[i];
}

}  // namespace strata
