// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/device_trace.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

// Where nothing can be recorded the reason is said, and the next attempt says it again: nothing
// stays claimed.
TEST(DeviceTrace, begins_or_says_why_not) {
  std::string first_reason;
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      const auto trace = begin_device_trace();
      trace->begin_part(0);
      EXPECT_TRUE(trace->end().records.empty());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_NE(std::string_view(error.what()), "");
      if (attempt == 0) first_reason = error.what();
      EXPECT_EQ(first_reason, error.what());
    }
  }
}

TEST(DeviceTrace, there_is_one_at_a_time) {
  std::unique_ptr<DeviceTrace> first;
  try {
    first = begin_device_trace();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_THROW(begin_device_trace(), Error);
  first.reset();
  EXPECT_NO_THROW(begin_device_trace());
}

TEST(DeviceTrace, says_what_records_lack) {
  DeviceActivity activity;
  EXPECT_EQ(lost_records_text(activity), "");
  activity.dropped = 3;
  EXPECT_EQ(lost_records_text(activity), "3 records of the trace were lost for want of room");
  activity.untimed = 2;
  EXPECT_NE(lost_records_text(activity).find("; 2 records have no times"), std::string::npos);
}

}  // namespace
}  // namespace strata
