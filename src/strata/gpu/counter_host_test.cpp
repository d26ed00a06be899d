// SPDX-License-Identifier: Apache-2.0
// CUPTI's host half says what a chip has and how many runs it takes, on any computer that has the
// library.
#include "strata/gpu/counter_host.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/gpu/counter_plan.hpp"
#include "strata/gpu/range_counters.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

class CounterHosts : public testing::Test {
 protected:
  void SetUp() override {
    try {
      chips_ = countable_chips();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      GTEST_SKIP() << error.what();
    }
  }
  static CounterPlan plan(const CounterHost& host, const std::string& chip) {
    return plan_counters(metrics_of_chip(chip), "full", [&](std::span<const std::string> metrics) {
      return host.accepted(metrics);
    });
  }
  std::vector<std::string> chips_;
};

TEST_F(CounterHosts, every_name_of_a_chips_own_file_is_one_of_its_counters) {
  for (const EmbeddedFile& file : embedded_metrics()) {
    const ChipMetrics metrics = read_metrics(file.text);
    for (const std::string& chip : metrics.chips) {
      EXPECT_NE(std::find(chips_.begin(), chips_.end(), chip), chips_.end()) << chip;
      const CounterPlan planned = plan(*counter_host(chip), chip);
      EXPECT_EQ(planned.sessions.size(), metrics.sessions.size()) << chip;
      for (const AbsentColumn& column : planned.absent)
        ADD_FAILURE() << chip << " " << column.key << ": " << column.reason;
    }
  }
}

TEST_F(CounterHosts, sessions_take_as_many_runs_as_the_file_says) {
  for (const EmbeddedFile& file : embedded_metrics()) {
    for (const std::string& chip : read_metrics(file.text).chips) {
      const auto host = counter_host(chip);
      for (const PlannedSession& session : plan(*host, chip).sessions) {
        EXPECT_EQ(session.passes, host->passes(session.metrics)) << chip << " " << session.name;
      }
    }
  }
}

// Names of other generations: a chip of each gets the bytes, the occupancy and the stalls at least.
TEST_F(CounterHosts, chips_without_a_file_have_most_columns) {
  for (const char* chip : {"GV100", "TU102", "GA102", "GB100", "GB202"}) {
    if (std::find(chips_.begin(), chips_.end(), chip) == chips_.end()) continue;
    ASSERT_TRUE(metrics_of_chip(chip).chips.empty()) << chip;
    const CounterPlan planned = plan(*counter_host(chip), chip);
    for (const char* key :
         {"l2_read_bytes", "occupancy", "ipc", "gld_efficiency", "l2_read_hit_rate",
          "stall_long_scoreboard", "stall_data_access", "fp32_flop"}) {
      for (const AbsentColumn& column : planned.absent)
        EXPECT_NE(column.key, key) << chip << ": " << column.reason;
    }
    EXPECT_LT(planned.absent.size(), 12U) << chip;
  }
}

TEST_F(CounterHosts, a_name_that_no_chip_has_is_not_accepted) {
  const auto host = counter_host("GH100");
  const std::vector<std::string> names = {"sm__inst_executed.sum", "sm__no_such_counter.sum",
                                          "dram__bytes_read.sum"};
  EXPECT_EQ(host->accepted(names),
            (std::set<std::string>{"sm__inst_executed.sum", "dram__bytes_read.sum"}));
  EXPECT_THROW(host->passes(names), Error);
  EXPECT_THROW(counter_host("no chip"), Error);
}

TEST(RangeCounters, open_or_say_why_not) {
  try {
    open_range_counters(0);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string_view(error.what()), "");
  }
}

}  // namespace
}  // namespace strata
