// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/steps.hpp"

#include "strata/base/printable.hpp"
#include "strata/capture/xla_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace strata {
namespace {

constexpr std::size_t least_kernels_of_step = 2;

/// [i]: how long the beginning is repeated at i.
std::vector<std::size_t> z_values(const std::vector<std::uint64_t>& text) {
  std::vector<std::size_t> z(text.size(), 0);
  std::size_t left = 0;
  std::size_t right = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < text.size() && text[z[i]] == text[i + z[i]]) ++z[i];
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
  }
  return z;
}

/// Behind all that the host launched.
std::int64_t marked_until(const Recording& recording) {
  std::int64_t last = device_span(recording).end_ns;
  for (const ApiRecord& call : recording.calls) last = std::max(last, call.time.end_ns);
  return last + 1;
}

std::vector<TimeSpan> marked_steps(const Recording& recording) {
  std::vector<TimeSpan> marks;
  for (const RangeRecord& range : recording.ranges) {
    if (range.kind == RangeKind::framework || range.kind == RangeKind::call) continue;
    if (is_step_mark(recording.names.text(range.name))) marks.push_back(range.time);
  }
  std::sort(marks.begin(), marks.end(),
            [](const TimeSpan& a, const TimeSpan& b) { return a.start_ns < b.start_ns; });
  // Ranges of the same step on several threads are one. A mark without length lasts until the next.
  std::vector<TimeSpan> steps;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    TimeSpan mark = marks[i];
    if (!steps.empty() && mark.start_ns < steps.back().end_ns) continue;
    if (mark.length_ns() == 0)
      mark.end_ns = i + 1 < marks.size() ? marks[i + 1].start_ns : marked_until(recording);
    steps.push_back(mark);
  }
  return steps;
}

void by_marks(const Recording& recording, const KernelOrigins& origins,
              const std::vector<TimeSpan>& marks, FoundSteps& found) {
  for (std::size_t i = 0; i < origins.of_kernel.size(); ++i) {
    // What no call is known of ran when it ran.
    const std::int64_t at = origins.of_kernel[i].call == no_index
                                ? recording.kernels[i].time.start_ns
                                : recording.calls[origins.of_kernel[i].call].time.start_ns;
    const auto after = std::upper_bound(
        marks.begin(), marks.end(), at,
        [](std::int64_t moment, const TimeSpan& mark) { return moment < mark.start_ns; });
    if (after == marks.begin() || at >= (after - 1)->end_ns) continue;
    found.step_of_kernel[i] = static_cast<std::size_t>(after - 1 - marks.begin());
  }
  found.count = marks.size();
  found.how = "ranges that mark steps";
}

/// Executions of one compiled function of XLA (JAX): of the program whose kernels took longest.
struct XlaExecutions {
  std::vector<TimeSpan> marks;
  std::string module;
};

XlaExecutions xla_executions(const Recording& recording, const KernelOrigins& origins) {
  std::map<NameId, std::vector<TimeSpan>> of_program;
  for (const RangeRecord& range : recording.ranges) {
    if (range.kind != RangeKind::nvtx) continue;
    const std::string_view name = recording.names.text(range.name);
    if (name.starts_with("XlaModule:#")) of_program[range.name].push_back(range.time);
  }
  NameId longest = 0;
  std::int64_t longest_ns = 0;
  for (auto& [program, marks] : of_program) {
    std::sort(marks.begin(), marks.end(),
              [](const TimeSpan& a, const TimeSpan& b) { return a.start_ns < b.start_ns; });
    FoundSteps found;
    found.step_of_kernel.assign(recording.kernels.size(), no_index);
    by_marks(recording, origins, marks, found);
    std::int64_t device_ns = 0;
    for (std::size_t i = 0; i < recording.kernels.size(); ++i)
      if (found.step_of_kernel[i] != no_index) device_ns += recording.kernels[i].time.length_ns();
    if (device_ns <= longest_ns) continue;
    longest = program;
    longest_ns = device_ns;
  }
  if (longest_ns == 0) return {};
  const std::optional<XlaRange> range = xla_range(recording.names.text(longest));
  return {of_program[longest], range ? range->module : ""};
}

void by_repetition(const Recording& recording, const KernelOrigins& origins, FoundSteps& found) {
  // In the order of their launches: that of their starts changes from step to step.
  std::vector<std::size_t> order(recording.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto launched_ns = [&](std::size_t kernel) {
    const std::size_t call = origins.of_kernel[kernel].call;
    return call == no_index ? recording.kernels[kernel].time.start_ns
                            : recording.calls[call].time.start_ns;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return launched_ns(a) < launched_ns(b); });
  std::vector<std::uint64_t> sequence;
  for (const std::size_t kernel : order) {
    const KernelRecord& record = recording.kernels[kernel];
    sequence.push_back((std::uint64_t{record.name} << 32U) ^
                       (std::uint64_t{record.grid[0]} * 31 + record.grid[1]));
  }
  const std::size_t length = repeated_length(sequence);
  if (length < least_kernels_of_step) return;
  std::size_t repeated = length;
  while (repeated < sequence.size() && sequence[sequence.size() - 1 - repeated] ==
                                           sequence[sequence.size() - 1 - repeated + length]) {
    ++repeated;
  }
  found.count = repeated / length;
  const std::size_t first = sequence.size() - found.count * length;
  for (std::size_t i = first; i < sequence.size(); ++i)
    found.step_of_kernel[order[i]] = (i - first) / length;
  found.how = fmt::format("a sequence of {} kernels that repeats", length);
}

}  // namespace

std::size_t repeated_length(const std::vector<std::uint64_t>& sequence) {
  std::vector<std::uint64_t> backwards(sequence.rbegin(), sequence.rend());
  const std::vector<std::size_t> z = z_values(backwards);
  for (std::size_t length = 1; length <= backwards.size() / 2; ++length) {
    if (z[length] >= length && 2 * (z[length] + length) >= backwards.size()) return length;
  }
  return 0;
}

FoundSteps find_steps(const Recording& recording, const KernelOrigins& origins) {
  FoundSteps found;
  found.step_of_kernel.assign(recording.kernels.size(), no_index);
  const std::vector<TimeSpan> marks = marked_steps(recording);
  if (!marks.empty()) {
    by_marks(recording, origins, marks, found);
  } else if (const XlaExecutions executions = xla_executions(recording, origins);
             !executions.marks.empty()) {
    by_marks(recording, origins, executions.marks, found);
    found.how = fmt::format("executions of {}", printable(executions.module));
  } else {
    by_repetition(recording, origins, found);
  }
  found.spans.assign(found.count, {});
  std::vector<bool> has_kernel(found.count, false);
  for (std::size_t i = 0; i < recording.kernels.size(); ++i) {
    const std::size_t step = found.step_of_kernel[i];
    if (step == no_index) continue;
    const TimeSpan time = recording.kernels[i].time;
    TimeSpan& span = found.spans[step];
    span = has_kernel[step] ? TimeSpan{std::min(span.start_ns, time.start_ns),
                                       std::max(span.end_ns, time.end_ns)}
                            : time;
    has_kernel[step] = true;
  }
  return found;
}

std::size_t median_step(const FoundSteps& steps) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < steps.spans.size(); ++i) {
    if (steps.spans[i].length_ns() > 0) order.push_back(i);
  }
  if (order.empty()) return no_index;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    const std::int64_t first_ns = steps.spans[a].length_ns();
    const std::int64_t second_ns = steps.spans[b].length_ns();
    return first_ns != second_ns ? first_ns < second_ns : a < b;
  });
  return *middle;
}

}  // namespace strata
