// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/log_windows.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace strata {
namespace {

class WindowTest {
 public:
  explicit WindowTest(std::span<const TimeSpan> windows) : windows_(windows) {}

  bool holds(std::int64_t at_ns) const {
    const auto next =
        std::upper_bound(windows_.begin(), windows_.end(), at_ns,
                         [](std::int64_t at, const TimeSpan& one) { return at < one.start_ns; });
    return next != windows_.begin() && at_ns <= std::prev(next)->end_ns;
  }
  bool touches(const TimeSpan& span) const {
    return std::any_of(windows_.begin(), windows_.end(), [&](const TimeSpan& one) {
      return span.start_ns <= one.end_ns && one.start_ns <= span.end_ns;
    });
  }

 private:
  std::span<const TimeSpan> windows_;
};

/// Rows of the device belong to the call that asked for them; where the call is not known, to their
/// own time.
class KeptWork {
 public:
  KeptWork(const std::vector<ApiRecord>& calls, const WindowTest& windows) : windows_(windows) {
    for (const ApiRecord& call : calls) {
      // A call of the runtime and the driver's inside it share a number: one of them suffices.
      const bool is_kept = windows.holds(call.time.start_ns);
      const auto [entry, is_new] = calls_.try_emplace(call.correlation, is_kept);
      if (!is_new) entry->second = entry->second || is_kept;
    }
  }

  template <class Row>
  bool operator()(const Row& row) const {
    const auto call = calls_.find(row.correlation);
    return row.correlation != 0 && call != calls_.end() ? call->second
                                                        : windows_.holds(row.time.start_ns);
  }

 private:
  const WindowTest& windows_;
  std::unordered_map<std::uint64_t, bool> calls_;
};

void keep_kernels(Recording& recording, const KeptWork& is_kept) {
  const std::size_t columns = recording.counters.names.size();
  std::vector<double>& values = recording.counters.values;
  std::size_t next = 0;
  for (std::size_t i = 0; i < recording.kernels.size(); ++i) {
    if (!is_kept(recording.kernels[i])) continue;
    recording.kernels[next] = recording.kernels[i];
    if (!values.empty())
      std::copy_n(values.begin() + i * columns, columns, values.begin() + next * columns);
    ++next;
  }
  recording.kernels.resize(next);
  if (!values.empty()) values.resize(next * columns);
}

/// One kernel of the sequence: what it is, and when it was asked for.
struct KernelLaunch {
  std::int64_t at_ns;
  std::uint32_t key;
};

std::vector<KernelLaunch> launches_of(const Recording& recording) {
  std::unordered_map<std::uint64_t, std::int64_t> call_times;
  for (const ApiRecord& call : recording.calls)
    call_times.try_emplace(call.correlation, call.time.start_ns);
  std::map<std::tuple<NameId, std::array<std::uint32_t, 3>>, std::uint32_t> keys;
  std::vector<KernelLaunch> launches;
  launches.reserve(recording.kernels.size());
  for (const KernelRecord& kernel : recording.kernels) {
    const auto call = call_times.find(kernel.correlation);
    const std::int64_t at = call == call_times.end() ? kernel.time.start_ns : call->second;
    const auto key =
        keys.try_emplace({kernel.name, kernel.grid}, static_cast<std::uint32_t>(keys.size()));
    launches.push_back({at, key.first->second});
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const KernelLaunch& a, const KernelLaunch& b) { return a.at_ns < b.at_ns; });
  return launches;
}

/// A stretch that repeats itself with a period.
struct Repetition {
  std::size_t period = 0;
  std::size_t first = 0;
  std::size_t length = 0;  ///< at least two periods; 0: none
};

Repetition longest_run(const std::vector<KernelLaunch>& launches, std::size_t period) {
  Repetition best{period, 0, 0};
  std::size_t run = 0;
  for (std::size_t i = period; i < launches.size(); ++i) {
    run = launches[i].key == launches[i - period].key ? run + 1 : 0;
    if (run >= period && run + period > best.length)
      best = {period, i + 1 - run - period, run + period};
  }
  return best;
}

/// Distances at which the same kernel comes again, the commonest first: the period of an iteration
/// is the distance of every kernel that it launches once.
std::vector<std::size_t> likely_periods(const std::vector<KernelLaunch>& launches) {
  constexpr std::size_t most = 32;
  std::unordered_map<std::uint32_t, std::size_t> last;
  std::unordered_map<std::size_t, std::size_t> weights;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto [before, is_first] = last.try_emplace(launches[i].key, i);
    if (!is_first) {
      const std::size_t distance = i - before->second;
      weights[distance] += distance;  // else short loops inside an iteration outvote it
      before->second = i;
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> sorted;
  for (const auto& [distance, weight] : weights) sorted.emplace_back(weight, distance);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<std::size_t> periods;
  for (std::size_t i = 0; i < sorted.size() && i < most; ++i) periods.push_back(sorted[i].second);
  return periods;
}

/// Where in the period an iteration begins: behind the longest pause between launches, as the host
/// prepares the next one there.
std::size_t begin_of_period(const std::vector<KernelLaunch>& launches,
                            const Repetition& repetition) {
  std::vector<std::int64_t> pauses(repetition.period, 0);
  for (std::size_t i = 1; i < repetition.length; ++i) {
    const std::size_t at = repetition.first + i;
    pauses[i % repetition.period] += launches[at].at_ns - launches[at - 1].at_ns;
  }
  return static_cast<std::size_t>(std::max_element(pauses.begin(), pauses.end()) - pauses.begin());
}

}  // namespace

void keep_windows(Recording& recording, std::span<const TimeSpan> windows) {
  const WindowTest test(windows);
  const KeptWork is_kept(recording.calls, test);
  keep_kernels(recording, is_kept);
  std::erase_if(recording.copies, [&](const CopyRecord& copy) { return !is_kept(copy); });
  std::erase_if(recording.fills, [&](const FillRecord& fill) { return !is_kept(fill); });
  std::erase_if(recording.calls,
                [&](const ApiRecord& call) { return !test.holds(call.time.start_ns); });
  std::erase_if(recording.syncs,
                [&](const SyncRecord& sync) { return !test.holds(sync.time.start_ns); });
  std::erase_if(recording.memory,
                [&](const MemoryEvent& event) { return !test.holds(event.at_ns); });
  std::erase_if(recording.overheads,
                [&](const OverheadRecord& row) { return !test.holds(row.time.start_ns); });
  std::erase_if(recording.ranges,
                [&](const RangeRecord& range) { return !test.touches(range.time); });
}

std::vector<TimeSpan> repeated_steps(const Recording& recording) {
  const std::vector<KernelLaunch> launches = launches_of(recording);
  Repetition best;
  for (const std::size_t period : likely_periods(launches)) {
    const Repetition found = longest_run(launches, period);
    const bool is_better =
        found.length > best.length || (found.length == best.length && found.period < best.period);
    if (found.length > 0 && is_better) best = found;
  }
  if (best.length == 0) return {};
  std::vector<TimeSpan> steps;
  const std::size_t end = best.first + best.length;
  for (std::size_t at = best.first + begin_of_period(launches, best); at + best.period <= end;
       at += best.period) {
    const std::size_t next = at + best.period;
    const std::int64_t until =
        next < launches.size() ? launches[next].at_ns - 1 : launches.back().at_ns;
    steps.push_back({launches[at].at_ns, until});
  }
  return steps;
}

}  // namespace strata
