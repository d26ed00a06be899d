// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/event_ranges.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata::cpu {
namespace {

/// Counts up by what the test says.
class MadeUpEvents final : public EventCounters {
 public:
  std::vector<EventCounts> counts;
  std::size_t stopped = 0;
  bool is_on = false;
  void start() override { is_on = true; }
  EventCounts stop() override {
    EXPECT_TRUE(is_on);
    is_on = false;
    return counts.at(stopped++);
  }
};

TEST(EventRanges, every_range_has_its_counts) {
  auto events = std::make_unique<MadeUpEvents>();
  events->counts = {
      {.cycles = 200, .instructions = 300, .cache_references = 50, .cache_misses = 10},
      {.cycles = 100, .instructions = 50, .is_estimated = true}};
  const auto counters = event_range_counters(std::move(events));
  const CounterPlan plan = counters->plan("paper");
  EXPECT_EQ(counters->cost(plan).passes, 1);
  const CounterTable table = counters->count(plan, [](RangeMarks& marks) {
    for (const char* name : {"first", "second"}) {
      marks.push(name);
      marks.pop();
    }
  });
  ASSERT_EQ(table.ranges.size(), 2U);
  EXPECT_EQ(table.ranges[1].range, "second");
  const auto value = [&](std::size_t range, std::string_view key) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].key == key) return table.ranges[range].values[i];
    }
    ADD_FAILURE() << key;
    return std::optional<double>();
  };
  EXPECT_EQ(value(0, "instructions"), 300);
  EXPECT_EQ(value(0, "ipc"), 1.5);
  EXPECT_DOUBLE_EQ(value(0, "cache_hit_rate").value(), 0.8);
  EXPECT_EQ(value(1, "ipc"), 0.5);
  EXPECT_EQ(value(1, "cache_hit_rate"), std::nullopt);
  EXPECT_NE(table.chip.find("scaled up"), std::string::npos);
  EXPECT_TRUE(table.absent.empty());  // the first range has them all
}

TEST(EventRanges, nothing_is_counted_for_times_alone) {
  const auto counters = event_range_counters(std::make_unique<MadeUpEvents>());
  const CounterPlan plan = counters->plan("time");
  EXPECT_EQ(counters->cost(plan).passes, 0);
  EXPECT_TRUE(counters->count(plan, [](RangeMarks&) { FAIL(); }).ranges.empty());
}

TEST(EventRanges, of_this_computer_count_or_say_why_not) {
  try {
    const auto counters = open_event_ranges();
    const CounterTable table = counters->count(counters->plan("paper"), [](RangeMarks& marks) {
      marks.push("work");
      volatile std::int64_t sum = 0;
      for (std::int64_t i = 0; i < 1'000'000; ++i) sum = sum + i;
      marks.pop();
    });
    ASSERT_EQ(table.ranges.size(), 1U);
    EXPECT_GT(table.ranges[0].values[1].value_or(0), 1e6);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string(error.what()), "");
  }
}

}  // namespace
}  // namespace strata::cpu
