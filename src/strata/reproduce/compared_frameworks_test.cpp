// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/compared_frameworks.hpp"

#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

CaptureCase captured_lstm(std::string framework, double launches, double kernel_s) {
  CaptureCase one;
  one.framework = std::move(framework);
  one.network = "lstm";
  one.batch = 16;
  one.part = "forward";
  one.dtype = "fp32";
  one.launches = launches;
  one.kernel_s = kernel_s;
  return one;
}

/// Our own engine with 40 launches in 0.1 ms.
RooflineStudy own_lstm() {
  RooflineStudy own;
  own.machine = load_machine("h200");
  own.sweeps = {{{"conv2d", "batch", {16}}, {}},
                {{"lstm", "batch", {16}},
                 {{.value = 16, .dtype = DType::fp32, .pass = "forward", .work = {.flop = 1000}}}}};
  Work& work = own.sweeps.back().points.front().work;
  work.bytes = 1000;
  work.launches = 40;
  work.time_s = 1e-4;
  return own;
}

Finding claim_of(const CaptureStudy& study, const RooflineStudy& own, std::string_view what) {
  for (Finding& finding : framework_claims(study, own)) {
    if (finding.what.starts_with(what)) return finding;
  }
  return {};
}

TEST(ComparedFrameworks, an_lstm_that_is_not_bound_by_launches_is_named) {
  const std::string what = "bound by starting";
  CaptureStudy study;
  RooflineStudy own = own_lstm();
  EXPECT_FALSE(claim_of(study, own, what).is_printed);
  EXPECT_EQ(claim_of(study, own, what).found, "not measured");
  study.cases.push_back(captured_lstm("pytorch", 40, 1e-4));
  EXPECT_TRUE(claim_of(study, own, what).holds);
  EXPECT_TRUE(claim_of(study, own, what).note.starts_with("holds where every point is"));
  Work& work = own.sweeps.back().points.front().work;
  work.flop = std::int64_t{1} << 50;
  work.time_s = study.cases.front().kernel_s = 2;  // far longer than 40 launches take
  const Finding computed = claim_of(study, own, what);
  EXPECT_FALSE(computed.holds);
  EXPECT_EQ(computed.found, "0 of 2 points");
  EXPECT_NE(computed.note.find("pytorch fp32 forward at batch 16 runs 2 s for 40 launches and is "
                               "bound by compute"),
            computed.note.npos)
      << computed.note;
}

TEST(ComparedFrameworks, say_whose_complexity_was_counted) {
  CaptureStudy study;
  study.cases.push_back(captured_lstm("pytorch", 40, 1e-4));
  RooflineStudy own = own_lstm();
  EXPECT_NE(claim_of(study, own, "bound by").note.find("by definition: no counters were read"),
            std::string::npos);
  own.sweeps.back().points.front().counters = {
      {"dram_read_bytes", 300}, {"dram_write_bytes", 100}, {"fp32_flop", 5000}};
  const std::string note = claim_of(study, own, "bound by").note;
  EXPECT_NE(note.find("FLOP and bytes as counted of strata, by definition of pytorch, of which not "
                      "every kernel was counted"),
            note.npos)
      << note;
  for (const FrameworkTrack& track : framework_tracks(study, &own)) {
    const bool is_own = track.framework == "strata";
    EXPECT_EQ(track.works.front().bytes, is_own ? 400 : 1000) << track.framework;
    EXPECT_EQ(track.works.front().flop, is_own ? 5000 : 1000) << track.framework;
    EXPECT_EQ(track.works.front().counts_bytes, is_own);
  }
}

TEST(ComparedFrameworks, captures_with_counters_have_their_own_complexity) {
  CaptureStudy study;
  study.cases.push_back(captured_lstm("pytorch", 40, 1e-4));
  study.cases.back().counted = {
      {"dram_read_bytes", 600}, {"dram_write_bytes", 200}, {"fp32_flop", 7000}};
  const RooflineStudy own = own_lstm();
  const std::string note = claim_of(study, own, "bound by").note;
  EXPECT_NE(note.find("as counted of pytorch, by definition of strata"), note.npos) << note;
  for (const FrameworkTrack& track : framework_tracks(study, &own)) {
    const bool is_own = track.framework == "strata";
    EXPECT_EQ(track.works.front().bytes, is_own ? 1000 : 800) << track.framework;
    EXPECT_EQ(track.works.front().flop, is_own ? 1000 : 7000) << track.framework;
  }
}

TEST(ComparedFrameworks, pytorch_launches_the_fewest_or_another_is_named) {
  const std::string what = "PyTorch launches the fewest";
  CaptureStudy study;
  const RooflineStudy own = own_lstm();
  EXPECT_EQ(claim_of(study, own, what).found, "not measured");
  EXPECT_FALSE(claim_of(study, own, what).is_printed);
  study.cases = {captured_lstm("pytorch", 5, 1e-4), captured_lstm("jax", 57, 1e-4)};
  const Finding fewest = claim_of(study, own, what);
  EXPECT_TRUE(fewest.is_printed && fewest.holds);
  EXPECT_EQ(fewest.found, "fp32: pytorch 5, jax 57, strata 40");
  study.cases.front().launches = 50;
  const Finding more = claim_of(study, own, what);
  EXPECT_TRUE(more.is_printed);
  EXPECT_FALSE(more.holds);
  EXPECT_NE(more.note.find("strata launches 40 in fp32, PyTorch 50"), more.note.npos) << more.note;
}

// What frameworks did was measured: it stands in that column, beside no prediction.
TEST(ComparedFrameworks, stand_in_the_measured_column_of_the_study) {
  const RooflineStudy predicted = predict_roofline_study();
  RooflineStudy measured = predicted;
  measured.evidence = Evidence::measured;
  CaptureStudy study;
  study.cases = {captured_lstm("pytorch", 5, 1e-4), captured_lstm("jax", 57, 1e-4)};
  std::size_t rows = 0;
  for (const Finding& finding : roofline_findings(predicted, &measured, &study)) {
    if (finding.observation != "frameworks") continue;
    ++rows;
    EXPECT_FALSE(finding.is_printed);
    EXPECT_EQ(finding.found, "not predicted");
    ASSERT_TRUE(finding.measured && finding.measured->holds);
  }
  EXPECT_EQ(rows, 2U);
}

}  // namespace
}  // namespace strata
