// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/expected_iteration.hpp"

#include "strata/base/error.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/profile/side_by_side.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

nlohmann::json expected_document() {
  return nlohmann::json::parse(R"({
    "schema_version": 1, "kind": "prediction", "evidence": "predicted",
    "totals": {"time_s": 10, "drain_time_s": 1},
    "expected": {"framework": "pytorch-eager", "time_s": 40, "interval_s": [30, 50],
                 "samples_per_s": 0.8, "busy_s": 36, "host_s": 20, "launches": 7,
                 "calibration": "transferred", "calibrated_on": "h200", "arithmetic_s": 8,
                 "lost_to": [{"to": "launches and host", "time_s": 32}],
                 "uncovered": [{"class": "a", "share": 0.1}, {"class": "b", "share": 0.2}]},
    "layers": [
      {"layer": "fc", "pass": "forward", "time_s": 4, "flop": 5, "stall_time_s": 3,
       "expected": {"busy_s": 30, "kernels_s": 31, "host_s": 15, "launches": 4.6}},
      {"layer": "copy", "pass": "forward", "time_s": 5, "flop": 0,
       "expected": {"busy_s": 6, "kernels_s": 6, "host_s": 5, "launches": 2}}]})");
}

TEST(ExpectedIteration, is_read_from_a_prediction) {
  const Profile profile = read_profile(expected_document().dump());
  ASSERT_TRUE(profile.expected);
  const ExpectedIteration& expected = *profile.expected;
  EXPECT_EQ(expected.framework, "pytorch-eager");
  EXPECT_EQ(expected.low_s, 30);
  EXPECT_EQ(expected.high_s, 50);
  EXPECT_NEAR(expected.uncovered_share, 0.3, 1e-12);
  EXPECT_NEAR(expected.samples(), 32, 1e-12);
  EXPECT_FALSE(expected.is_host_bound());
  EXPECT_EQ(expected.lost_to.at(0).to, "launches and host");
  ASSERT_TRUE(profile.rows[0].expected);
  EXPECT_EQ(profile.rows[0].expected->busy_s, 30);
  nlohmann::json limit = expected_document();
  limit["expected"] = nullptr;
  EXPECT_FALSE(read_profile(limit.dump()).expected);
}

TEST(ExpectedIteration, a_bad_one_is_refused_by_its_place) {
  const auto refusal = [](const char* path, const nlohmann::json& value) -> std::string {
    nlohmann::json document = expected_document();
    document[nlohmann::json::json_pointer(path)] = value;
    try {
      read_profile(document.dump());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("/expected/time_s", 0).find("profile.expected.time_s"), std::string::npos);
  EXPECT_NE(refusal("/expected/interval_s", {41, 50}).find("interval_s: expected two times"),
            std::string::npos);
  EXPECT_NE(refusal("/expected/host_s", -1).find("profile.expected.host_s"), std::string::npos);
  EXPECT_NE(refusal("/expected", "soon").find("profile.expected"), std::string::npos);
  EXPECT_NE(refusal("/layers/0/expected/busy_s", "x").find("layers[0].expected.busy_s"),
            std::string::npos);
}

TEST(ExpectedIteration, stands_in_for_the_limit) {
  const Profile limit = read_profile(expected_document().dump());
  const Profile expected = with_expected_times(limit);
  const IterationTime iteration = iteration_of(expected);
  EXPECT_EQ(iteration.time_s, 40);
  EXPECT_EQ(iteration.busy_s, 36);
  EXPECT_EQ(iteration.gaps_s, 4);
  EXPECT_EQ(iteration.drain_s, 0);
  EXPECT_EQ(name_of(iteration.from), "framework");
  EXPECT_EQ(expected.rows[0].totals.launches, 5);
  EXPECT_EQ(expected.rows[0].totals.stall_s, 0);
  EXPECT_EQ(expected.rows[0].totals.flop, 5);
  EXPECT_EQ(expected.rows[1].totals.zero_flop_s, 6);
  Profile none = limit;
  none.expected.reset();
  EXPECT_EQ(iteration_of(with_expected_times(none)).time_s, 10);
}

TEST(ExpectedIteration, is_compared_where_every_prediction_has_one) {
  const Profile expected = read_profile(expected_document().dump());
  Profile limit = expected;
  limit.expected.reset();
  Profile measured = limit;
  measured.evidence = Evidence::measured;
  const ProfileComparison both = compare_profiles(expected, expected);
  EXPECT_EQ(both.a.times(), "expected");
  EXPECT_EQ(both.iteration_a.time_s, 40);
  EXPECT_EQ(both.a.limit_s, 10);
  EXPECT_EQ(both.rows[0].a_s(), 30);
  // One that has none can only be held against limits.
  EXPECT_EQ(compare_profiles(expected, limit).a.times(), "limit");
  EXPECT_EQ(compare_profiles(expected, limit).iteration_a.time_s, 10);
  // A measurement is what expected times are for.
  const ProfileComparison real = compare_profiles(measured, expected);
  EXPECT_EQ(real.a.times(), "measured");
  EXPECT_EQ(real.b.times(), "expected");
  EXPECT_EQ(real.iteration_a.time_s, 10);
  EXPECT_EQ(real.iteration_b.time_s, 40);
  EXPECT_FALSE(real.a.limit_s);
  const ProfileComparison limits = compare_profiles(expected, expected, ComparedTimes::limit);
  EXPECT_EQ(limits.a.times(), "limit");
  EXPECT_EQ(limits.iteration_a.time_s, 10);
  const std::vector<Profile> all = {expected, measured, expected};
  EXPECT_EQ(side_by_side(all).iterations[2].time_s, 40);
  EXPECT_EQ(side_by_side(all, ComparedTimes::limit).iterations[2].time_s, 10);
}

}  // namespace
}  // namespace strata
