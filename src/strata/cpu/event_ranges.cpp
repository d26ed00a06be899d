// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/event_ranges.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/metrics.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace strata::cpu {
namespace {

struct EventColumn {
  std::string_view key, unit, about;
  std::optional<std::int64_t> EventCounts::*count = nullptr;  // null: made of others
};
constexpr std::array<EventColumn, 6> event_columns = {{
    {"cycles", "cycles", "of all threads, outside the kernel", &EventCounts::cycles},
    {"instructions", "instructions", "executed by all threads", &EventCounts::instructions},
    {"cache_references", "accesses", "of the last level of cache", &EventCounts::cache_references},
    {"cache_misses", "accesses", "that the last level of cache did not hold",
     &EventCounts::cache_misses},
    {"ipc", "instructions per cycle", "instructions per cycle of a core", nullptr},
    {"cache_hit_rate", "fraction", "accesses that the last level of cache held", nullptr},
}};

std::optional<double> ratio(const std::optional<std::int64_t>& a,
                            const std::optional<std::int64_t>& b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return static_cast<double>(*a) / static_cast<double>(*b);
}

CounterValues values_of(const EventCounts& counts) {
  CounterValues values;
  for (const EventColumn& column : event_columns) {
    std::optional<double> value;
    if (column.count != nullptr) {
      if (const auto& count = counts.*column.count) value = static_cast<double>(*count);
    } else if (column.key == "ipc") {
      value = ratio(counts.instructions, counts.cycles);
    } else if (const auto missed = ratio(counts.cache_misses, counts.cache_references)) {
      value = std::max(0.0, 1 - *missed);
    }
    values.push_back(value);
  }
  return values;
}

class EventMarks final : public RangeMarks {
 public:
  explicit EventMarks(EventCounters& counters) : events_(counters) {}
  void push(std::string_view name) override {
    ranges.push_back({std::string(name), {}, {}});
    events_.start();
  }
  void pop() override {
    const EventCounts counts = events_.stop();
    is_estimated = is_estimated || counts.is_estimated;
    ranges.back().values = values_of(counts);
  }

  std::vector<RangeCounts> ranges;
  bool is_estimated = false;

 private:
  EventCounters& events_;
};

class EventRangeCounters final : public RangeCounters {
 public:
  explicit EventRangeCounters(std::unique_ptr<EventCounters> counters)
      : events_(std::move(counters)) {}

  const std::string& chip() const override { return chip_; }

  CounterPlan plan(std::string_view preset) const override {
    CounterPlan plan{.preset = std::string(preset)};
    if (preset == "time") return plan;
    PlannedSession session{.name = "events", .passes = 1};
    for (const EventColumn& column : event_columns) {
      session.columns.push_back(
          {std::string(column.key), std::string(column.unit), std::string(column.about), {}, {}});
    }
    plan.sessions.push_back(std::move(session));
    return plan;
  }

  CounterCost cost(const CounterPlan& plan) const override {
    return {.sessions = static_cast<int>(plan.sessions.size()),
            .passes = static_cast<int>(plan.sessions.size())};
  }

  CounterTable count(const CounterPlan& plan, const CountedWork& work) override {
    CounterTable table{.chip = chip_, .preset = plan.preset, .absent = plan.absent};
    if (plan.sessions.empty()) return table;
    EventMarks marks(*events_);
    work(marks);
    if (marks.is_estimated) table.chip += " (scaled up: others used the counters, too)";
    table.ranges = std::move(marks.ranges);
    for (std::size_t i = 0; i < event_columns.size(); ++i) {
      const EventColumn& column = event_columns[i];
      table.columns.push_back(
          {std::string(column.key), std::string(column.unit), std::string(column.about)});
      const bool is_there =
          std::any_of(table.ranges.begin(), table.ranges.end(),
                      [&](const RangeCounts& range) { return range.values[i].has_value(); });
      if (!is_there)
        table.absent.push_back({std::string(column.key), "the processor does not count it"});
    }
    return table;
  }

 private:
  std::unique_ptr<EventCounters> events_;
  std::string chip_ = "CPU through perf_event";
};

}  // namespace

std::unique_ptr<RangeCounters> event_range_counters(std::unique_ptr<EventCounters> events) {
  return std::make_unique<EventRangeCounters>(std::move(events));
}

std::unique_ptr<RangeCounters> open_event_ranges() {
  std::string problem;
  std::unique_ptr<EventCounters> events = open_event_counters(problem);
  if (!events) fail(ErrorKind::environment, "{}", problem);
  return event_range_counters(std::move(events));
}

}  // namespace strata::cpu
