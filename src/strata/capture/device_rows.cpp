// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/collectives.hpp"
#include "strata/capture/idle_times.hpp"
#include "strata/capture/intervals.hpp"
#include "strata/capture/trace_builder.hpp"

#include <algorithm>
#include <map>

namespace strata {
namespace {

struct DeviceWorkSpans {
  std::vector<std::size_t> kernels;     ///< by start
  std::vector<TimeSpan> copies, moves;  ///< moves: copies and fills
};

void add_busy_times(const TraceInput& input, const DeviceWorkSpans& work, DeviceRow& row) {
  std::vector<TimeSpan> all;
  std::vector<TimeSpan> collectives;
  std::vector<TimeSpan> others;
  for (const std::size_t kernel : work.kernels) {
    const KernelRecord& record = input.recording.kernels[kernel];
    row.kernel_sum_ns += record.time.length_ns();
    all.push_back(record.time);
    (is_collective(input.class_of_name[record.name]) ? collectives : others).push_back(record.time);
  }
  const std::vector<std::int64_t> at_once = times_at_once(all);
  row.most_at_once = at_once.size() - 1;
  for (std::size_t k = 2; k < at_once.size(); ++k) row.concurrent_ns += at_once[k];
  const std::vector<std::int64_t> copies_at_once = times_at_once(work.copies);
  for (std::size_t k = 2; k < copies_at_once.size(); ++k)
    row.copies_at_once_ns += copies_at_once[k];
  const Coverage busy(std::move(all));
  const Coverage copies(work.copies);
  const Coverage collective(std::move(collectives));
  row.kernel_busy_ns = busy.total();
  row.copy_busy_ns = copies.total();
  row.copy_exposed_ns = copies.total() - common_ns(copies, busy);
  row.collective_busy_ns = collective.total();
  row.collective_exposed_ns =
      collective.total() - common_ns(collective, Coverage(std::move(others)));
}

void add_idle_times(const IdleTimes& idle, const DeviceWorkSpans& work, DeviceRow& row) {
  if (work.kernels.empty()) return;
  const IdleTally tally = idle.between(work.kernels, Coverage(work.moves));
  row.gaps = tally.gaps;
  row.longest_gap_ns = tally.longest_gap_ns;
  row.idle_ns = tally.idle_ns;
  row.span_ns = tally.span.length_ns();
}

}  // namespace

void add_device_rows(const TraceInput& input, TraceTables& tables) {
  const Recording& recording = input.recording;
  std::map<std::uint32_t, DeviceWorkSpans> devices;
  for (std::size_t i = 0; i < recording.kernels.size(); ++i)
    devices[recording.kernels[i].device].kernels.push_back(i);
  for (const CopyRecord& copy : recording.copies) {
    devices[copy.device].copies.push_back(copy.time);
    devices[copy.device].moves.push_back(copy.time);
  }
  for (const FillRecord& fill : recording.fills) devices[fill.device].moves.push_back(fill.time);
  const IdleTimes idle(recording, input.origins);
  for (auto& [device, work] : devices) {
    DeviceRow row;
    row.device = device;
    if (const RecordedDevice* info = device_of(recording.process, device)) row.name = info->name;
    row.kernels = static_cast<std::int64_t>(work.kernels.size());
    std::stable_sort(work.kernels.begin(), work.kernels.end(), [&](std::size_t a, std::size_t b) {
      return recording.kernels[a].time.start_ns < recording.kernels[b].time.start_ns;
    });
    add_busy_times(input, work, row);
    if (recording.process.has_times) {
      add_idle_times(idle, work, row);
    } else {
      row.span_ns = row.kernel_busy_ns;
    }
    tables.devices.push_back(row);
  }
}

}  // namespace strata
