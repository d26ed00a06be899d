// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/idle_times.hpp"

#include "strata/base/text.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr std::array<std::string_view, idle_causes> cause_names = {
    "launch", "queued", "copy", "sync", "input", "host", "unknown"};

/// What starting a kernel that is in the queue may take; more is waiting for something else.
constexpr std::int64_t longest_start_ns = 10'000;

/// A launch that takes longer while kernels run all the time waits for room in the queue.
constexpr std::int64_t longest_free_launch_ns = 100'000;

bool is_input_range(std::string_view name) {
  return name.find("DataLoader") != name.npos || name.find("dataloader") != name.npos ||
         name.find("data_loader") != name.npos;
}

using SpansOfThreads = std::map<std::uint32_t, std::vector<TimeSpan>>;

std::map<std::uint32_t, Coverage> coverage_of(SpansOfThreads spans) {
  std::map<std::uint32_t, Coverage> threads;
  for (auto& [thread, of_thread] : spans) threads.emplace(thread, Coverage(std::move(of_thread)));
  return threads;
}

/// Calls by what their names say.
enum class CallKind : std::uint8_t { other, synchronizes, copies, copies_asynchronously };

CallKind call_kind(std::string_view name) {
  const std::string lower = lower_case(name);
  if (lower.find("synchronize") != lower.npos) return CallKind::synchronizes;
  if (lower.find("memcpy") == lower.npos) return CallKind::other;
  return lower.find("async") == lower.npos ? CallKind::copies : CallKind::copies_asynchronously;
}

/// The calls in which a thread waits for the device. A copy is waited for if its call returns when
/// it is done, whatever the call is named: from memory that is not pinned, cudaMemcpyAsync is not
/// asynchronous.
SpansOfThreads waiting_calls(const Recording& recording) {
  std::unordered_map<std::uint64_t, std::int64_t> copied_at;
  for (const CopyRecord& copy : recording.copies) {
    std::int64_t& end_ns = copied_at.try_emplace(copy.correlation, copy.time.end_ns).first->second;
    end_ns = std::max(end_ns, copy.time.end_ns);
  }
  std::vector<std::optional<CallKind>> kinds(recording.names.size());
  const auto waits = [&](const ApiRecord& call) {
    std::optional<CallKind>& kind = kinds[call.name];
    if (!kind) kind = call_kind(recording.names.text(call.name));
    if (*kind == CallKind::other) return false;
    const auto copy = copied_at.find(call.correlation);
    if (*kind == CallKind::synchronizes || call.correlation == 0 || copy == copied_at.end())
      return *kind != CallKind::copies_asynchronously;
    return copy->second <= call.time.end_ns;
  };
  SpansOfThreads spans;
  for (const ApiRecord& call : recording.calls)
    if (waits(call)) spans[call.thread].push_back(call.time);
  return spans;
}

/// The ranges in which a thread waits for a batch of data.
SpansOfThreads input_ranges(const Recording& recording) {
  std::vector<std::optional<bool>> is_input(recording.names.size());
  SpansOfThreads spans;
  for (const RangeRecord& range : recording.ranges) {
    std::optional<bool>& known = is_input[range.name];
    if (!known) known = is_input_range(recording.names.text(range.name));
    if (*known) spans[range.thread].push_back(range.time);
  }
  return spans;
}

std::int64_t within(const std::map<std::uint32_t, Coverage>& threads, std::uint32_t thread,
                    TimeSpan span) {
  const auto found = threads.find(thread);
  return found == threads.end() ? 0 : found->second.within(span);
}

}  // namespace

std::string_view name_of(IdleCause cause) { return cause_names[static_cast<std::size_t>(cause)]; }

IdleTimes::IdleTimes(const Recording& recording, const KernelOrigins& origins)
    : recording_(recording),
      origins_(origins),
      waits_(coverage_of(waiting_calls(recording))),
      inputs_(coverage_of(input_ranges(recording))) {}

/// Who is to blame for a gap that ends with the start of this kernel.
void IdleTimes::add_gap(TimeSpan gap, std::size_t next_kernel, const Coverage& moves,
                        IdleTally& tally) const {
  ++tally.gaps;
  tally.longest_gap_ns = std::max(tally.longest_gap_ns, gap.length_ns());
  const auto add = [&](IdleCause cause, std::int64_t ns) {
    tally.idle_ns[static_cast<std::size_t>(cause)] += ns;
  };
  const std::size_t call = origins_.of_kernel[next_kernel].call;
  if (call == no_index) {
    const std::int64_t copied = moves.within(gap);
    add(IdleCause::copy, copied);
    add(IdleCause::unknown, gap.length_ns() - copied);
    return;
  }
  const ApiRecord& launch = recording_.calls[call];
  const std::int64_t launched = std::clamp(launch.time.start_ns, gap.start_ns, gap.end_ns);
  const TimeSpan before{gap.start_ns, launched};
  const TimeSpan after{launched, gap.end_ns};
  const std::int64_t copied_after = moves.within(after);
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
  attribute(IdleCause::copy, moves.within(before));
  add(IdleCause::copy, copied_after);
  attribute(IdleCause::input, within(inputs_, launch.thread, before));
  attribute(IdleCause::sync, within(waits_, launch.thread, before));
  attribute(IdleCause::host, left);
}

IdleTally IdleTimes::between(std::span<const std::size_t> kernels, const Coverage& moves) const {
  IdleTally tally;
  if (kernels.empty()) return tally;
  const std::int64_t first = recording_.kernels[kernels.front()].time.start_ns;
  std::int64_t busy_until = first;
  for (const std::size_t kernel : kernels) {
    const TimeSpan time = recording_.kernels[kernel].time;
    if (time.start_ns > busy_until) add_gap({busy_until, time.start_ns}, kernel, moves, tally);
    busy_until = std::max(busy_until, time.end_ns);
  }
  tally.span = {first, busy_until};
  return tally;
}

std::optional<std::int64_t> IdleTimes::host_ns(std::span<const std::size_t> kernels) const {
  std::vector<TimeSpan> running;
  std::vector<std::size_t> calls;
  for (const std::size_t kernel : kernels) {
    if (origins_.of_kernel[kernel].call == no_index) return std::nullopt;
    calls.push_back(origins_.of_kernel[kernel].call);
    running.push_back(recording_.kernels[kernel].time);
  }
  if (calls.empty()) return std::nullopt;
  std::sort(calls.begin(), calls.end(), [&](std::size_t a, std::size_t b) {
    const TimeSpan first = recording_.calls[a].time;
    const TimeSpan second = recording_.calls[b].time;
    return first.start_ns != second.start_ns ? first.start_ns < second.start_ns : a < b;
  });
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());  // a graph has many kernels
  const Coverage busy(std::move(running));
  std::int64_t until = recording_.calls[calls.front()].time.start_ns;
  std::int64_t host_ns = 0;
  for (const std::size_t call : calls) {
    const ApiRecord& launch = recording_.calls[call];
    const TimeSpan before{until, std::max(until, launch.time.start_ns)};
    host_ns += before.length_ns() - within(waits_, launch.thread, before);
    const TimeSpan own{before.end_ns, std::max(before.end_ns, launch.time.end_ns)};
    const bool waits =
        own.length_ns() > longest_free_launch_ns && busy.within(own) == own.length_ns();
    if (!waits) host_ns += own.length_ns();
    until = own.end_ns;
  }
  return host_ns;
}

}  // namespace strata
