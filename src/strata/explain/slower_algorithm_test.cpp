// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/slower_algorithm.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

ProfileRow row_of(std::string layer, std::string pass, double time_s,
                  std::string op = "convolution") {
  ProfileRow row;
  row.layer = std::move(layer);
  row.pass = std::move(pass);
  row.op = std::move(op);
  row.totals.time_s = time_s;
  return row;
}

Profile recorded() {
  Profile profile;
  profile.rows = {row_of("a", "forward", 3.0), row_of("b", "forward", 1.0),
                  row_of("c", "backward", 2.0), row_of("fc", "forward", 4.0, "linear")};
  return profile;
}

TEST(SlowerAlgorithm, SaysWhatIsLostAgainstTheFastest) {
  const std::vector<MeasuredAlternative> alternatives = {{"a", "forward", "fft", 2.5, "f"},
                                                         {"a", "forward", "winograd", 1.0, "g"},
                                                         {"b", "forward", "implicit", 0.95, "g"},
                                                         {"c", "forward", "implicit", 0.1, "g"},
                                                         {"fc", "forward", "gemm", 0.1, "g"}};
  const auto finding = find_slower_algorithms(recorded(), alternatives);
  ASSERT_TRUE(finding);
  EXPECT_DOUBLE_EQ(finding->cost_s, 2.0);  // a alone: b is within a tenth, c is another pass
  EXPECT_DOUBLE_EQ(finding->cost_share, 0.2);
  EXPECT_NE(finding->what.find("one convolution"), std::string::npos);
  ASSERT_EQ(finding->evidence.size(), 2U);
  EXPECT_EQ(finding->evidence[1].what, "a forward by winograd");
  EXPECT_DOUBLE_EQ(finding->evidence[1].value, 1.0);
  EXPECT_NE(finding->advice.find(" g"), std::string::npos);
}

TEST(SlowerAlgorithm, IsSilentWhereNothingIsFaster) {
  const std::vector<MeasuredAlternative> slower = {{"a", "forward", "fft", 3.5, "f"}};
  EXPECT_FALSE(find_slower_algorithms(recorded(), slower));
  EXPECT_FALSE(find_slower_algorithms(recorded(), {}));
  // Less than a hundredth of the step.
  Profile profile = recorded();
  profile.rows.push_back(row_of("long", "forward", 1000, "linear"));
  const std::vector<MeasuredAlternative> faster = {{"a", "forward", "fft", 1.0, "f"}};
  EXPECT_FALSE(find_slower_algorithms(profile, faster));
}

}  // namespace
}  // namespace strata
