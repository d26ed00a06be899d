// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution.hpp"

#include "strata/convolution/lab/made_up_results_test.hpp"

#include <gtest/gtest.h>

#include <map>

namespace strata {
namespace {

/// A world as the study describes it: FFT is flat in the kernel and needs the most memory, the
/// library grows with it, direct is slow and frugal.
ConvResults world_of_the_study(double fft_scale) {
  const auto flop_of = [](const ConvShape& s, ConvPass) {
    return static_cast<double>(direct_flop(s));
  };
  const auto is_small = [](const ConvShape& s) { return s.kernel_height < 7; };
  return test::made_up_results(
      conv_suite("paper"),
      {{{"direct"}, [=](const ConvShape& s, ConvPass p) { return 5e-13 * flop_of(s, p); }},
       {{"unroll"},
        [=](const ConvShape& s, ConvPass p) { return 2.5e-13 * flop_of(s, p); },
        [](const ConvShape&) { return std::int64_t{1} << 30; }},
       {{"fft"},
        [=](const ConvShape& s, ConvPass) {
          return s.stride_height > 1
                     ? -1.0
                     : fft_scale * 1e-12 *
                           static_cast<double>(s.batch * s.filters * s.height * s.width);
        },
        [](const ConvShape&) { return std::int64_t{4} << 30; }},
       {{"cudnn:pick", true}, [=](const ConvShape& s, ConvPass p) {
          return (is_small(s) ? 1e-14 : 2e-13) * flop_of(s, p);
        }}});
}

std::map<std::string, Finding> by_number(const ConvResults& results) {
  std::map<std::string, Finding> findings;
  for (const Finding& finding : reproduce_convolution(results))
    EXPECT_TRUE(findings.emplace(finding.observation, finding).second) << finding.observation;
  return findings;
}

TEST(ReproduceConvolution, a_world_as_the_study_saw_it_holds) {
  const auto findings = by_number(world_of_the_study(15));
  EXPECT_EQ(findings.size(), 15U);
  for (const char* number : {"1", "2", "3", "4", "5", "6", "7", "8", "9", "11", "14"})
    EXPECT_TRUE(findings.at(number).holds) << number << ": " << findings.at(number).found;
  // Made-up roles: gemm 0.7 of 0.9; 16 KB of shared memory and 72 registers.
  EXPECT_EQ(findings.at("10").found, "78–78 %");
  EXPECT_TRUE(findings.at("12").holds);
  EXPECT_TRUE(findings.at("13").holds);
}

TEST(ReproduceConvolution, a_world_with_a_slow_fft_does_not) {
  const auto findings = by_number(world_of_the_study(5000));
  for (const char* number : {"1", "2", "4"}) EXPECT_FALSE(findings.at(number).holds) << number;
  EXPECT_TRUE(findings.at("3").holds);
  EXPECT_TRUE(findings.at("5").holds) << "slow, and still constant";
}

TEST(ReproduceConvolution, what_is_not_there_is_said_to_be_missing) {
  ConvResults results = world_of_the_study(15);
  std::erase_if(results.cells, [](const ConvCell& cell) { return cell.strategy == "fft"; });
  const auto findings = by_number(results);
  EXPECT_FALSE(findings.at("1").is_printed);
  EXPECT_EQ(findings.at("1").note, "not in these results");
  results.cells.clear();
  for (const auto& [number, finding] : by_number(results)) {
    EXPECT_FALSE(finding.is_printed) << number;
    EXPECT_FALSE(finding.holds) << number;
  }
}

}  // namespace
}  // namespace strata
