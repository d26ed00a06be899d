// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/profiler_reasons.hpp"

#include <gtest/gtest.h>

#include <set>

namespace strata {
namespace {

TEST(ProfilerReasons, what_people_can_change_says_how) {
  const std::string permission = profiler_problem("Start", 35, "CUPTI_ERROR_PRIVILEGES");
  EXPECT_NE(permission.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  EXPECT_NE(permission.find("/etc/modprobe.d/"), std::string::npos);
  EXPECT_NE(profiler_problem("Subscribe", 39, "X").find("another profiler"), std::string::npos);
  EXPECT_NE(profiler_problem("Enable", 26, "X").find("DCGM"), std::string::npos);
}

TEST(ProfilerReasons, the_call_and_the_number_are_always_there) {
  for (int status = 1; status < 60; ++status) {
    const std::string text = profiler_problem("someCall", status, "SOME_NAME");
    EXPECT_NE(text.find("someCall"), std::string::npos) << status;
    EXPECT_NE(text.find("SOME_NAME"), std::string::npos) << status;
    EXPECT_NE(text.find(std::to_string(status)), std::string::npos) << status;
  }
}

TEST(ProfilerReasons, no_two_refusals_say_the_same) {
  std::set<std::string_view> seen;
  for (int status = 0; status < 1000; ++status) {
    const std::string_view advice = profiler_advice(status);
    if (advice.empty()) continue;
    EXPECT_TRUE(seen.insert(advice).second) << status;
  }
  EXPECT_GT(seen.size(), 10U);
}

}  // namespace
}  // namespace strata
