// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/explain.hpp"
#include "strata/explain/read_findings.hpp"
#include "strata/explain/small_case_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

using test::hand_machine;
using test::measured_profile;
using test::to_row;
using test::with_code;

/// A step of 100 s whose kernels run for 20: a product far from its peak, and a collective.
Profile recorded_profile(std::optional<double> host_s = std::nullopt) {
  ProfileRow exchange =
      to_row({.layer = "all_reduce", .op = "collective", .time_s = 8, .flop = 0, .bytes = 0});
  exchange.layer_class = communication_class;
  exchange.totals.zero_flop_s = 0;
  exchange.totals.zero_flop_launches = 0;
  Profile profile = measured_profile(
      {to_row({.layer = "conv", .op = "conv", .is_dense = true, .time_s = 12, .flop = 300}),
       exchange});
  profile.iteration_s = 100;
  profile.iteration_from = TimeFrom::step;
  profile.recorded = RecordedStep{.busy_s = 20, .idle = {{"host", 80}}, .host_s = host_s};
  return profile;
}

ProfileFinding host_gaps() {
  ProfileFinding finding;
  finding.code = FindingCode::host_gaps;
  finding.what = "no kernel ran";
  finding.cost_s = 240;
  finding.cost_share = 0.8;
  finding.is_of_recording = true;
  finding.advice = "give the host less to do";
  return finding;
}

Explanation explained_recording(const Profile& profile,
                                const std::vector<ProfileFinding>& recorded) {
  const Machine machine = hand_machine();
  return explain({.profile = profile, .machine = machine, .recorded = &recorded});
}

TEST(ExplainRecorded, TheFindingsOfTheRecordingStandFirstAndNothingRepeatsThem) {
  const std::vector<ProfileFinding> recorded = {host_gaps()};
  const Explanation answer = explained_recording(recorded_profile(), recorded);
  EXPECT_EQ(answer.time_s, 100);
  EXPECT_EQ(answer.time_from, TimeFrom::step);
  ASSERT_GE(answer.findings.size(), 2U);
  EXPECT_EQ(answer.findings[0].code, FindingCode::host_gaps);
  EXPECT_EQ(answer.findings[0].cost_s, 80) << "0.8 of a step, as of the recording";
  EXPECT_TRUE(answer.findings[0].is_of_recording);
  EXPECT_FALSE(answer.findings[1].is_of_recording);
  EXPECT_TRUE(with_code(answer, FindingCode::between_kernels).empty()) << "host-gaps says it";
  EXPECT_TRUE(with_code(answer, FindingCode::communication).empty()) << "of what nothing hides";
  EXPECT_TRUE(with_code(answer, FindingCode::launch_bound).empty()) << "the step has its launches";
}

TEST(ExplainRecorded, WithoutTheRecordingItsGapsAreOne) {
  const Machine machine = hand_machine();
  const Profile profile = recorded_profile();
  const Explanation answer = explain({.profile = profile, .machine = machine});
  ASSERT_EQ(with_code(answer, FindingCode::between_kernels).size(), 1U);
  EXPECT_DOUBLE_EQ(with_code(answer, FindingCode::between_kernels)[0].cost_s, 80);
  EXPECT_EQ(with_code(answer, FindingCode::communication).size(), 1U);
}

// A collective has no bytes of this device's memory; it was "memory-bound", to be fused.
TEST(ExplainRecorded, CollectivesAreNotMemoryBound) {
  const Explanation answer = explained_recording(recorded_profile(), {});
  for (const ProfileFinding& finding : answer.findings) {
    EXPECT_EQ(finding.what.find("collective"), std::string::npos) << finding.what;
    EXPECT_NE(finding.subject, "collective");
  }
  EXPECT_EQ(with_code(answer, FindingCode::low_utilisation).size(), 1U);
}

// At its roof the product takes 3 s: 9 s less, which a host that needs 97 s turns into 3.
TEST(ExplainRecorded, FasterKernelsDoNotMakeTheStepShorterThanTheHostTakes) {
  const auto with_host = [](std::optional<double> host_s) {
    const Explanation answer = explained_recording(recorded_profile(host_s), {});
    return *with_code(answer, FindingCode::low_utilisation).at(0).what_ifs.at(0).time_s;
  };
  EXPECT_DOUBLE_EQ(with_host(std::nullopt), 91);
  EXPECT_DOUBLE_EQ(with_host(50), 91);
  EXPECT_DOUBLE_EQ(with_host(97), 97);
  EXPECT_DOUBLE_EQ(with_host(150), 100);  // launched ahead: no shorter, and no longer
  const Explanation answer = explained_recording(recorded_profile(97), {});
  EXPECT_TRUE(std::any_of(answer.notes.begin(), answer.notes.end(), [](const std::string& note) {
    return note.find("the host takes 97 s") != note.npos;
  }));
}

TEST(ExplainRecorded, KernelsThatMultiplyTf32AreNotToldToAllowIt) {
  Machine machine = hand_machine();
  machine.peaks.push_back({DType::tf32, ComputeUnit::matrix, Sourced{500, "test"}});
  const auto advises_tf32 = [&](DType dtype, bool is_matrix) {
    const Profile profile = measured_profile(
        {to_row({.op = "conv", .is_dense = true, .time_s = 12, .flop = 300}, dtype, is_matrix)});
    const Explanation answer = explain({.profile = profile, .machine = machine});
    const auto names_tf32 = [](const WhatIf& what_if) { return text_of(what_if.change) == "tf32"; };
    bool is_advised = std::any_of(answer.what_ifs.begin(), answer.what_ifs.end(), names_tf32);
    for (const ProfileFinding& finding : with_code(answer, FindingCode::wide_type))
      is_advised |= finding.advice.find("TF32") != finding.advice.npos;
    return is_advised;
  };
  EXPECT_TRUE(advises_tf32(DType::fp32, false));
  EXPECT_FALSE(advises_tf32(DType::tf32, true));
}

TEST(ExplainRecorded, FindingsOfATraceAreReadBack) {
  const std::string text = R"({"kind": "trace", "processes": [
    {"kernel_time_s": 1, "findings": []},
    {"kernel_time_s": 2, "findings": [
      {"code": "host-gaps", "subject": "", "what": "no kernel ran", "advice": "do less",
       "evidence": [{"what": "gaps", "value": 3, "measure": "count"},
                    {"what": "idle in all", "value": 0.5, "measure": "seconds"}],
       "cost_s": 0.5, "cost_share": 0.25},
      {"code": "of-another-version", "subject": "", "what": "", "advice": "", "cost_s": 0,
       "cost_share": 0}]}]})";
  const auto findings = recorded_findings(text);
  ASSERT_TRUE(findings.has_value());
  ASSERT_EQ(findings->size(), 1U);
  const ProfileFinding& finding = findings->front();
  EXPECT_EQ(finding.code, FindingCode::host_gaps);
  EXPECT_TRUE(finding.is_of_recording);
  EXPECT_EQ(finding.cost_s, 0.5);
  ASSERT_EQ(finding.evidence.size(), 2U);
  EXPECT_EQ(finding.evidence[1].measure, Measure::seconds);
  EXPECT_FALSE(recorded_findings(R"({"kind": "measurement"})").has_value());
  EXPECT_FALSE(recorded_findings("not JSON").has_value());
}

}  // namespace
}  // namespace strata
