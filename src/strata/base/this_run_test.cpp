// SPDX-License-Identifier: Apache-2.0
#include "strata/base/this_run.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(ThisRun, names_for_the_command_line) {
  EXPECT_EQ(measured_name("NVIDIA H200"), "nvidia-h200-measured");
  EXPECT_EQ(measured_name("AMD EPYC 9654 96-Core Processor"),
            "amd-epyc-9654-96-core-processor-measured");
  EXPECT_EQ(measured_name("  Xeon @ 2.5GHz !"), "xeon-2.5ghz-measured");
  EXPECT_EQ(measured_name("☃"), "machine-measured");
}

TEST(ThisRun, host_and_moment) {
  EXPECT_FALSE(this_host().empty());
  const std::string now = this_moment();
  ASSERT_EQ(now.size(), 20U) << now;
  EXPECT_EQ(now.substr(0, 2), "20");
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

}  // namespace
}  // namespace strata
