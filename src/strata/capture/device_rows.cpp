// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/capture/collectives.hpp"
#include "strata/capture/intervals.hpp"
#include "strata/capture/trace_builder.hpp"

#include <algorithm>
#include <map>

namespace strata {
namespace {

constexpr std::array<std::string_view, idle_causes> cause_names = {
    "launch", "queued", "copy", "sync", "input", "host", "unknown"};

/// What starting a kernel that is in the queue may take; more is waiting for something else.
constexpr std::int64_t longest_start_ns = 10'000;

/// Calls in which a thread waits for the device.
bool is_waiting_call(std::string_view name) {
  const std::string lower = lower_case(name);
  if (lower.find("synchronize") != lower.npos) return true;
  // A copy that is not asynchronous returns when it is done.
  return lower.find("memcpy") != lower.npos && lower.find("async") == lower.npos;
}

bool is_input_range(std::string_view name) {
  return name.find("DataLoader") != name.npos || name.find("dataloader") != name.npos ||
         name.find("data_loader") != name.npos;
}

/// What a thread of the host did.
struct ThreadTimes {
  std::vector<TimeSpan> waits, inputs;
};

/// When host threads waited, for the device or for data.
class HostTimes {
 public:
  explicit HostTimes(const Recording& recording) {
    std::map<std::uint32_t, ThreadTimes> times;
    std::vector<signed char> is_waiting(recording.names.size(), -1);
    for (const ApiRecord& call : recording.calls) {
      signed char& known = is_waiting[call.name];
      if (known < 0) known = is_waiting_call(recording.names.text(call.name)) ? 1 : 0;
      if (known == 1) times[call.thread].waits.push_back(call.time);
    }
    std::vector<signed char> is_input(recording.names.size(), -1);
    for (const RangeRecord& range : recording.ranges) {
      signed char& known = is_input[range.name];
      if (known < 0) known = is_input_range(recording.names.text(range.name)) ? 1 : 0;
      if (known == 1) times[range.thread].inputs.push_back(range.time);
    }
    for (auto& [thread, of_thread] : times) {
      waits_.emplace(thread, Coverage(std::move(of_thread.waits)));
      inputs_.emplace(thread, Coverage(std::move(of_thread.inputs)));
    }
  }

  std::int64_t waits_within(std::uint32_t thread, TimeSpan span) const {
    return within(waits_, thread, span);
  }
  std::int64_t inputs_within(std::uint32_t thread, TimeSpan span) const {
    return within(inputs_, thread, span);
  }

 private:
  static std::int64_t within(const std::map<std::uint32_t, Coverage>& of_threads,
                             std::uint32_t thread, TimeSpan span) {
    const auto found = of_threads.find(thread);
    return found == of_threads.end() ? 0 : found->second.within(span);
  }

  std::map<std::uint32_t, Coverage> waits_;
  std::map<std::uint32_t, Coverage> inputs_;
};

struct DeviceWorkSpans {
  std::vector<std::size_t> kernels;     ///< by start
  std::vector<TimeSpan> copies, moves;  ///< moves: copies and fills
};

class IdleTimes {
 public:
  IdleTimes(const TraceInput& input, const HostTimes& host, const Coverage& moves)
      : input_(input), host_(host), moves_(moves) {}

  /// Who is to blame for a gap that ends with the start of this kernel.
  void add_gap(TimeSpan gap, std::size_t next_kernel, DeviceRow& row) const {
    ++row.gaps;
    row.longest_gap_ns = std::max(row.longest_gap_ns, gap.length_ns());
    const auto add = [&](IdleCause cause, std::int64_t ns) {
      row.idle_ns[static_cast<std::size_t>(cause)] += ns;
    };
    const std::size_t call = input_.origins.of_kernel[next_kernel].call;
    if (call == no_index) {
      const std::int64_t copied = moves_.within(gap);
      add(IdleCause::copy, copied);
      add(IdleCause::unknown, gap.length_ns() - copied);
      return;
    }
    const ApiRecord& launch = input_.recording.calls[call];
    const std::int64_t launched = std::clamp(launch.time.start_ns, gap.start_ns, gap.end_ns);
    const TimeSpan before{gap.start_ns, launched};
    const TimeSpan after{launched, gap.end_ns};
    const std::int64_t copied_after = moves_.within(after);
    const std::int64_t starting = after.length_ns() - copied_after;
    const bool was_queued = launch.time.end_ns <= gap.start_ns;
    const std::int64_t by_launch = was_queued ? std::min(starting, longest_start_ns) : starting;
    add(IdleCause::launch, by_launch);
    add(IdleCause::queued, starting - by_launch);
    // Before the launch: copies first, then what the thread did, never more than there is.
    std::int64_t left = before.length_ns();
    const auto attribute = [&](IdleCause cause, std::int64_t ns) {
      const std::int64_t taken = std::min(ns, left);
      add(cause, taken);
      left -= taken;
    };
    attribute(IdleCause::copy, moves_.within(before));
    add(IdleCause::copy, copied_after);
    attribute(IdleCause::input, host_.inputs_within(launch.thread, before));
    attribute(IdleCause::sync, host_.waits_within(launch.thread, before));
    attribute(IdleCause::host, left);
  }

 private:
  const TraceInput& input_;
  const HostTimes& host_;
  const Coverage& moves_;
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

void add_idle_times(const TraceInput& input, const DeviceWorkSpans& work, const HostTimes& host,
                    DeviceRow& row) {
  if (work.kernels.empty()) return;
  const Coverage moves(work.moves);
  const IdleTimes idle(input, host, moves);
  const std::vector<KernelRecord>& kernels = input.recording.kernels;
  const std::int64_t first = kernels[work.kernels.front()].time.start_ns;
  std::int64_t busy_until = first;
  for (const std::size_t kernel : work.kernels) {
    const TimeSpan time = kernels[kernel].time;
    if (time.start_ns > busy_until) idle.add_gap({busy_until, time.start_ns}, kernel, row);
    busy_until = std::max(busy_until, time.end_ns);
  }
  row.span_ns = busy_until - first;
}

}  // namespace

std::string_view name_of(IdleCause cause) { return cause_names[static_cast<std::size_t>(cause)]; }

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
  const HostTimes host(recording);
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
      add_idle_times(input, work, host, row);
    } else {
      row.span_ns = row.kernel_busy_ns;
    }
    tables.devices.push_back(row);
  }
}

}  // namespace strata
