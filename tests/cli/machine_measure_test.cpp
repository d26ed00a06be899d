// SPDX-License-Identifier: Apache-2.0
// What `strata machine measure` refuses; what it measures is tested on a device (tests/device).
#include "strata/version.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata::test {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(MachineMeasure, a_device_that_does_not_exist_is_a_mistake_of_the_command_line) {
  for (const char* device : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "CUDA"}) {
    const Outcome outcome = run({"machine", "measure", "--device", device});
    EXPECT_EQ(outcome.exit_code, 2) << device;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(has(outcome.err, "--device")) << outcome.err;
  }
}

TEST(MachineMeasure, two_outputs_in_one_place_are_refused) {
  const Outcome outcome = run({"machine", "measure", "--json", "-", "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, "both write to")) << outcome.err;
}

TEST(MachineMeasure, its_flags_go_with_nothing_else) {
  EXPECT_EQ(run({"machine", "list", "--quick"}).exit_code, 2);
  EXPECT_EQ(run({"machine", "show", "h200", "--device", "cuda"}).exit_code, 2);
  EXPECT_EQ(run({"machine", "measure", "h200"}).exit_code, 2);
}

TEST(MachineMeasure, without_cuda_it_says_so_and_what_still_works) {
  if (!cuda_toolkit_version.empty()) GTEST_SKIP() << "this build has CUDA";
  const Outcome outcome = run({"machine", "measure", "--device", "cuda"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(has(outcome.err, "built without CUDA")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "strata list machines")) << outcome.err;
}

}  // namespace
}  // namespace strata::test
