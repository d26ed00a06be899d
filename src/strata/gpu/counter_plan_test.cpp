// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/counter_plan.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/range_counters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace strata {
namespace {

std::set<std::string> all_of(std::span<const std::string> metrics) {
  return {metrics.begin(), metrics.end()};
}

TEST(CounterPlan, time_alone_needs_no_counters) {
  const CounterPlan plan = plan_counters(metrics_of_chip("GH100"), "time", all_of);
  EXPECT_TRUE(plan.sessions.empty());
  EXPECT_TRUE(plan.absent.empty());
  EXPECT_EQ(to_text(CounterCost{}), "no counters");
}

TEST(CounterPlan, patched_kernels_come_last_and_apart) {
  for (const std::string_view preset : metric_preset_names()) {
    const CounterPlan plan = plan_counters(metrics_of_chip("GH100"), preset, all_of);
    bool has_seen_sass = false;
    for (const PlannedSession& session : plan.sessions) {
      EXPECT_GE(session.is_sass, has_seen_sass) << preset << " " << session.name;
      has_seen_sass = session.is_sass;
      for (const std::string& metric : session.metrics)
        EXPECT_EQ(is_sass_metric(metric), session.is_sass) << metric;
      const std::set<std::string> distinct(session.metrics.begin(), session.metrics.end());
      EXPECT_EQ(distinct.size(), session.metrics.size());
    }
  }
}

TEST(CounterPlan, what_the_chip_lacks_is_absent_by_name_or_read_another_way) {
  const auto newer = [](std::span<const std::string> metrics) {
    std::set<std::string> known = all_of(metrics);
    known.erase("dram__bytes_read.sum");
    known.erase("l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum");
    return known;
  };
  const CounterPlan plan = plan_counters(metrics_of_chip("some new chip"), "roofline", newer);
  ASSERT_EQ(plan.absent.size(), 1U);
  EXPECT_EQ(plan.absent[0].key, "l1_load_bytes");
  EXPECT_NE(plan.absent[0].reason.find("l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"),
            std::string::npos);
  const auto& columns = plan.sessions.at(0).columns;
  const auto dram = std::find_if(columns.begin(), columns.end(), [](const PlannedColumn& column) {
    return column.key == "dram_read_bytes";
  });
  ASSERT_NE(dram, columns.end());
  EXPECT_EQ(dram->sum.at(0).metric, "dram__bytes_op_read.sum");
}

TEST(CounterPlan, a_chip_without_any_of_it_has_no_session) {
  const CounterPlan plan =
      plan_counters(metrics_of_chip("GH100"), "full",
                    [](std::span<const std::string>) { return std::set<std::string>{}; });
  EXPECT_TRUE(plan.sessions.empty());
  EXPECT_EQ(plan.absent.size(), metrics_of_chip("GH100").columns.size());
}

TEST(CounterPlan, an_unknown_preset_is_named_with_what_there_is) {
  try {
    plan_counters(metrics_of_chip("GH100"), "rooflin", all_of);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string_view(error.what()).find("did you mean roofline"), std::string_view::npos);
  }
}

// Every column of every file, from random counter values, against the sum written out by hand.
TEST(CounterPlan, columns_are_their_formulas) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> count(0, 1000);
  for (const char* chip : {"GH100", "GA100", "AD102", "other"}) {
    const ChipMetrics& metrics = metrics_of_chip(chip);
    const CounterPlan plan = plan_counters(metrics, "full", all_of);
    std::map<std::string, double, std::less<>> values;
    for (const PlannedSession& session : plan.sessions) {
      for (const std::string& metric : session.metrics) values[metric] = count(random);
    }
    for (const PlannedSession& session : plan.sessions) {
      for (const PlannedColumn& column : session.columns) {
        const MetricColumn& source = *metrics.column(column.key);
        double expected = 0;
        for (const MetricTerm& term : source.alternatives[0])
          expected += term.factor * values[term.metric];
        double divisor = source.over.empty() ? 1 : 0;
        if (!source.over.empty()) {
          for (const MetricTerm& term : metrics.column(source.over)->alternatives[0])
            divisor += term.factor * values[term.metric];
        }
        ASSERT_GT(divisor, 0);
        ASSERT_TRUE(column_value(column, values).has_value()) << column.key;
        EXPECT_DOUBLE_EQ(*column_value(column, values), expected / divisor) << column.key;
      }
    }
  }
}

TEST(CounterPlan, shares_of_reasons_add_up_to_one) {
  const CounterPlan plan = plan_counters(metrics_of_chip("GH100"), "stalls", all_of);
  std::mt19937 random(5);
  std::map<std::string, double, std::less<>> values;
  double total = 0;
  for (const PlannedSession& session : plan.sessions) {
    for (const std::string& metric : session.metrics)
      values[metric] = static_cast<double>(random() % 100);
    for (const PlannedColumn& column : session.columns) {
      if (column.key.starts_with("stall_") && column.key != "stall_data_access")
        total += column_value(column, values).value();
    }
  }
  EXPECT_NEAR(total, 1, 1e-12);
}

TEST(CounterPlan, a_value_that_cannot_be_is_none) {
  const PlannedColumn ratio{.key = "x", .sum = {{"a", 1}}, .over = {{"b", 1}}};
  EXPECT_EQ(column_value(ratio, {{"a", 1}, {"b", 0}}), std::nullopt);
  EXPECT_EQ(column_value(ratio, {{"a", 1}}), std::nullopt);
  EXPECT_EQ(column_value(ratio, {{"a", std::nan("")}, {"b", 2}}), std::nullopt);
  EXPECT_EQ(column_value(ratio, {{"a", 1}, {"b", 2}}), 0.5);
}

TEST(CounterCost, says_how_many_runs_and_never_less_than_they_take) {
  const CounterCost cost{.sessions = 3, .passes = 9, .sass_passes = 1};
  EXPECT_EQ(to_text(cost),
            "3 sessions, 9 runs, 1 of them with patched kernels that take up to 100 times as long");
  EXPECT_GT(least_seconds(cost, 0.5, 10), 0.5 * 10);
  EXPECT_GT(least_seconds(cost, 0.5, 1000), least_seconds(cost, 0.5, 10));
  EXPECT_EQ(least_seconds({}, 0.5, 10), 0);
}

}  // namespace
}  // namespace strata
