// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/intervals.hpp"

#include <algorithm>
#include <utility>

namespace strata {

std::vector<TimeSpan> union_of(std::vector<TimeSpan> spans) {
  std::erase_if(spans, [](const TimeSpan& span) { return span.end_ns <= span.start_ns; });
  std::sort(spans.begin(), spans.end(),
            [](const TimeSpan& a, const TimeSpan& b) { return a.start_ns < b.start_ns; });
  std::vector<TimeSpan> parts;
  for (const TimeSpan& span : spans) {
    if (!parts.empty() && span.start_ns <= parts.back().end_ns) {
      parts.back().end_ns = std::max(parts.back().end_ns, span.end_ns);
    } else {
      parts.push_back(span);
    }
  }
  return parts;
}

std::int64_t total_ns(std::span<const TimeSpan> disjoint) {
  std::int64_t total = 0;
  for (const TimeSpan& span : disjoint) total += span.length_ns();
  return total;
}

Coverage::Coverage(std::vector<TimeSpan> spans) : parts_(union_of(std::move(spans))) {
  before_.push_back(0);
  for (const TimeSpan& part : parts_) before_.push_back(before_.back() + part.length_ns());
}

std::int64_t Coverage::until(std::int64_t moment) const {
  const auto next =
      std::upper_bound(parts_.begin(), parts_.end(), moment,
                       [](std::int64_t at, const TimeSpan& part) { return at < part.start_ns; });
  if (next == parts_.begin()) return 0;
  const auto index = static_cast<std::size_t>(next - parts_.begin()) - 1;
  return before_[index] + std::min(moment, parts_[index].end_ns) - parts_[index].start_ns;
}

std::int64_t Coverage::within(TimeSpan span) const {
  return span.end_ns <= span.start_ns ? 0 : until(span.end_ns) - until(span.start_ns);
}

std::int64_t common_ns(const Coverage& a, const Coverage& b) {
  std::int64_t common = 0;
  for (const TimeSpan& part : a.parts()) common += b.within(part);
  return common;
}

std::vector<std::int64_t> times_at_once(std::span<const TimeSpan> spans, std::size_t most) {
  std::vector<std::pair<std::int64_t, int>> changes;
  changes.reserve(2 * spans.size());
  for (const TimeSpan& span : spans) {
    if (span.end_ns <= span.start_ns) continue;
    changes.emplace_back(span.start_ns, 1);
    changes.emplace_back(span.end_ns, -1);
  }
  std::sort(changes.begin(), changes.end());  // ends before starts of the same moment
  std::vector<std::int64_t> times(most + 1, 0);
  std::size_t running = 0;
  std::int64_t since = 0;
  for (const auto& [moment, change] : changes) {
    if (running > 0) times[std::min(running, most)] += moment - since;
    running = change > 0 ? running + 1 : running - 1;
    since = moment;
  }
  while (times.size() > 1 && times.back() == 0) times.pop_back();
  return times;
}

}  // namespace strata
