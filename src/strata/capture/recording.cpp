// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recording.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace strata {
namespace {

template <class Rows>
void sort_rows_by_start(Rows& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.time.start_ns < b.time.start_ns; });
}

/// Kernels take their counters along.
void sort_kernels(Recording& recording) {
  const std::size_t width = recording.counters.names.size();
  if (recording.counters.values.empty()) {
    sort_rows_by_start(recording.kernels);
    return;
  }
  std::vector<std::size_t> order(recording.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return recording.kernels[a].time.start_ns < recording.kernels[b].time.start_ns;
  });
  std::vector<KernelRecord> kernels;
  std::vector<double> values;
  kernels.reserve(order.size());
  values.reserve(recording.counters.values.size());
  for (const std::size_t from : order) {
    kernels.push_back(recording.kernels[from]);
    const auto first =
        recording.counters.values.begin() + static_cast<std::ptrdiff_t>(from * width);
    values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(width));
  }
  recording.kernels = std::move(kernels);
  recording.counters.values = std::move(values);
}

template <class Rows>
void widen(TimeSpan& span, const Rows& rows) {
  for (const auto& row : rows) {
    span.start_ns = std::min(span.start_ns, row.time.start_ns);
    span.end_ns = std::max(span.end_ns, row.time.end_ns);
  }
}

constexpr std::int64_t farthest_ns = std::int64_t{1} << 61;  // the year 2043, if 0 is 1970
constexpr std::int64_t most_sum = std::int64_t{1} << 62;

/// Adds up what cannot be negative, and refuses before it is too much.
class LimitedSum {
 public:
  explicit LimitedSum(std::string_view table) : table_(table) {}
  void add(std::int64_t number) {
    if (number > most_sum - sum_)
      fail(ErrorKind::input, "{}: their numbers add up to more than can be held", table_);
    sum_ += std::max<std::int64_t>(0, number);
  }

 private:
  std::string_view table_;
  std::int64_t sum_ = 0;
};

template <class Rows>
void check_rows(const Rows& rows, std::string_view table) {
  LimitedSum times(table);
  LimitedSum bytes(table);
  for (const auto& row : rows) {
    const TimeSpan time = row.time;
    if (time.start_ns < -farthest_ns || time.end_ns > farthest_ns || time.end_ns < time.start_ns)
      fail(ErrorKind::input, "{}: a time that is out of reach, or an end before its start", table);
    times.add(time.length_ns());
    if constexpr (requires { row.bytes; }) bytes.add(row.bytes);
    if constexpr (requires { row.message_bytes; }) bytes.add(row.message_bytes);
  }
}

}  // namespace

void check_recording(const Recording& recording) {
  check_rows(recording.kernels, "kernels");
  check_rows(recording.copies, "copies");
  check_rows(recording.fills, "memsets");
  check_rows(recording.calls, "calls");
  check_rows(recording.syncs, "synchronisations");
  check_rows(recording.ranges, "ranges");
  check_rows(recording.overheads, "overheads");
  LimitedSum times("summary");
  LimitedSum calls("summary");
  for (const RecordedSum& sum : recording.sums) {
    if (sum.calls < 0 || sum.total_ns < 0 || sum.least_ns < 0 || sum.most_ns < 0 ||
        std::max({sum.total_ns, sum.least_ns, sum.most_ns}) > farthest_ns)
      fail(ErrorKind::input, "summary: a time or a count that is out of reach");
    times.add(sum.total_ns);
    calls.add(sum.calls);
  }
  LimitedSum bytes("memory events");
  for (const MemoryEvent& event : recording.memory) bytes.add(event.bytes);
}

void sort_by_start(Recording& recording) {
  sort_kernels(recording);
  sort_rows_by_start(recording.copies);
  sort_rows_by_start(recording.fills);
  sort_rows_by_start(recording.calls);
  sort_rows_by_start(recording.syncs);
  sort_rows_by_start(recording.overheads);
  std::stable_sort(recording.ranges.begin(), recording.ranges.end(),
                   [](const RangeRecord& a, const RangeRecord& b) {
                     if (a.time.start_ns != b.time.start_ns)
                       return a.time.start_ns < b.time.start_ns;
                     return a.time.end_ns > b.time.end_ns;
                   });
  std::stable_sort(recording.memory.begin(), recording.memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.at_ns < b.at_ns; });
}

TimeSpan device_span(const Recording& recording) {
  constexpr TimeSpan nothing{std::numeric_limits<std::int64_t>::max(),
                             std::numeric_limits<std::int64_t>::min()};
  TimeSpan span = nothing;
  widen(span, recording.kernels);
  widen(span, recording.copies);
  widen(span, recording.fills);
  if (span == nothing) {
    widen(span, recording.calls);
    widen(span, recording.ranges);
  }
  return span == nothing ? TimeSpan{} : span;
}

}  // namespace strata
