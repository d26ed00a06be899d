// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution.hpp"

#include "strata/reproduce/claim_counts.hpp"
#include "strata/reproduce/studies.hpp"

#include <gtest/gtest.h>

#include <map>

namespace strata {
namespace {

// What ships: three passes of the suite with counters, and training profiles of the four networks.
TEST(ShippedConvolutionStudy, answers_every_row_and_says_why_of_each_no) {
  StudyRequest request;
  const StudyResult study = run_convolution_study(request);
  EXPECT_NE(study.basis.find("forward, backward_input and backward_weight"), std::string::npos);
  EXPECT_TRUE(study.figures.empty());
  std::map<std::string, Finding> rows;
  for (const Finding& row : study.findings) {
    EXPECT_TRUE(rows.emplace(row.observation, row).second) << row.observation;
    EXPECT_NE(row.found, "–") << row.observation << ": " << row.note;
    if (row.is_printed && !row.holds) {
      EXPECT_NE(row.note.find("; no: "), std::string::npos) << row.observation;
    }
  }
  EXPECT_EQ(rows.size(), 46U);
  const Tally tally = claim_counts(study.findings).front().rows;
  EXPECT_EQ(tally.held + tally.not_held, 44U) << "all but cuda-convnet2 and the library's kernels";
  EXPECT_EQ(rows.at("10").found, "66.5 %") << "at the study's configuration";
  EXPECT_FALSE(rows.at("10").holds);
  EXPECT_FALSE(rows.at("19").holds) << "memory in bytes along i is monotone";
  EXPECT_TRUE(rows.at("31").holds) << "along k it is not";
  EXPECT_TRUE(rows.at("25").holds) << "most exceed 97 %";
  EXPECT_FALSE(rows.at("32").holds) << "no FFT here is far below";
  EXPECT_FALSE(rows.at("33").holds);
  EXPECT_EQ(rows.at("11").found, "22 of 22");
  EXPECT_TRUE(rows.at("11").holds);
  EXPECT_EQ(rows.at("27").found, "92 %") << "VGG-16, batch 128";
}

}  // namespace
}  // namespace strata
