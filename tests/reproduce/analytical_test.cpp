// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/analytical.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace strata {
namespace {

// What is known not to hold: network, and what was looked at. Everything else must; and what is
// listed here must not hold either, so that the list cannot outlive its reason.
const std::set<std::pair<std::string, std::string>> known_differences = {
    // 93×, 7 % below the range
    {"gnmt_thesis", "reuse frequency, most against least"},
    // 3.06 MiB, half of what is printed
    {"resnet50_keras", "smallest feature map of a convolution"},
    // 87 %; some of it needs 745 MiB
    {"transformer_thesis", "block reuse captured at 180 MiB"},
    // 94.9 % of the bound with the thesis's prefetch list, where close is 95 %
    {"resnet50_keras", "13.45 → 23.04 TFLOP/s at 1000 MiB"},
    // −77.8 % for −81.1 %: the thesis does not list GNMT's layers
    {"gnmt_thesis", "time, 24 → 500 MiB"},
};

TEST(ReproduceAnalytical, the_observations_of_the_thesis_hold_but_for_those_listed) {
  double progress = 0;
  const std::vector<Finding> findings = reproduce_analytical([&](double share) {
    EXPECT_GE(share, progress);
    progress = share;
  });
  EXPECT_EQ(progress, 1);
  std::set<std::string> observations;
  for (const Finding& finding : findings) {
    observations.insert(finding.observation);
    const bool is_known = known_differences.contains({finding.network, finding.what});
    EXPECT_EQ(finding.holds, !is_known)
        << "observation " << finding.observation << ", " << finding.network << ", " << finding.what
        << ": printed " << finding.printed << ", found " << finding.found;
    EXPECT_EQ(finding.note.starts_with("rule: "), finding.is_printed) << finding.note;
    EXPECT_TRUE(finding.holds || finding.note.find("; ") != std::string::npos) << finding.note;
  }
  EXPECT_EQ(observations.size(), 14U + 2U);  // and figures 4.1 and 4.2
}

}  // namespace
}  // namespace strata
