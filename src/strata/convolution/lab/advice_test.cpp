// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/advice.hpp"

#include "strata/convolution/lab/made_up_results_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace strata {
namespace {

using test::made_up_results;
using test::results_with_crossover;

std::vector<std::string> crossings(const ConvAdvice& advice) {
  std::vector<std::string> lines;
  for (const ConvCrossover& each : advice.crossovers) {
    lines.push_back(
        fmt::format("{} {} {} {}", each.ahead, each.cannot ? "alone" : ">", each.behind, each.at));
  }
  return lines;
}

TEST(ConvAdvice, finds_the_fastest_at_every_point_and_where_the_lead_changes) {
  const ConvResults results = results_with_crossover();
  const auto all = conv_advice(results);
  ASSERT_EQ(all.size(), 1U);
  const ConvAdvice& advice = all.front();
  for (std::size_t point = 0; point < 12; ++point) {
    const std::size_t k = point + 2;
    ASSERT_TRUE(advice.fastest[point]);
    EXPECT_EQ(advice.fastest[point]->strategy, k == 3 ? "winograd" : k < 6 ? "unroll" : "fft") << k;
  }
  // 5² = 25 < 30 < 36 = 6²; winograd is ahead of unroll at its only point, and cannot at k = 4.
  EXPECT_EQ(crossings(advice),
            (std::vector<std::string>{"unroll alone winograd 4", "fft > unroll 6"}));
  EXPECT_EQ(advice.recommendation,
            "take unroll up to k = 2, winograd up to k = 3, unroll up to k = 5, fft beyond");
}

TEST(ConvAdvice, keeps_to_a_budget_of_scratch_memory) {
  const std::int64_t budgets[] = {std::int64_t{500} << 20, 1000};
  const auto all = conv_advice(results_with_crossover(), budgets);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].budget_bytes);
  EXPECT_EQ(all[1].budget_bytes, budgets[0]);
  EXPECT_EQ(all[1].recommendation, "take unroll up to k = 2, winograd up to k = 3, unroll beyond");
  EXPECT_EQ(all[2].recommendation, "take unroll throughout");
  EXPECT_TRUE(all[2].crossovers.empty());
}

TEST(ConvAdvice, sets_our_own_against_the_libraries) {
  const auto advice = conv_advice(results_with_crossover()).front();
  ASSERT_TRUE(advice.against_vendor);
  EXPECT_EQ(advice.against_vendor->points, 12);
  EXPECT_EQ(advice.against_vendor->ahead, 12);
  double logarithms = 0;
  for (int k = 2; k <= 13; ++k) {
    const double own = k == 3 ? 4 : std::min(k * k, 30);
    logarithms += std::log(own / (1.1 * k * k));
  }
  EXPECT_NEAR(advice.against_vendor->ratio, std::exp(logarithms / 12), 1e-12);
}

TEST(ConvAdvice, does_not_take_noise_for_a_crossover) {
  const ConvShape base{.height = 64, .width = 64, .kernel_height = 3, .kernel_width = 3};
  const auto results = made_up_results(
      {conv_sweep(base, "b=1:20")},
      {{{"a"}, [](const ConvShape&, ConvPass) { return 1.0; }},
       {{"b"}, [](const ConvShape& s, ConvPass) { return s.batch % 2 == 0 ? 1.01 : 0.99; }}});
  const auto advice = conv_advice(results).front();
  EXPECT_TRUE(advice.crossovers.empty());
  EXPECT_EQ(advice.stretches.size(), 1U);
}

TEST(ConvAdvice, does_not_believe_samples_that_scatter) {
  const ConvShape base{.height = 64, .width = 64, .kernel_height = 3, .kernel_width = 3};
  auto results = made_up_results(
      {conv_sweep(base, "b=1:3")},
      {{{"a"}, [](const ConvShape&, ConvPass) { return 1.0; }},
       {{"b"}, [](const ConvShape& s, ConvPass) { return s.batch == 1 ? 2.0 : 0.5; }}});
  EXPECT_EQ(conv_advice(results).front().crossovers.size(), 1U);
  for (ConvCell& cell : results.cells) {
    if (cell.strategy == "b" && cell.shape.batch > 1) cell.samples_s = {0.01, 0.5, 1.5};
  }
  EXPECT_TRUE(conv_advice(results).front().crossovers.empty());
}

bool warns_of(const ConvResults& results, std::string_view code) {
  const auto warnings = conv_warnings(results);
  return std::any_of(warnings.begin(), warnings.end(),
                     [&](const ConvWarning& warning) { return warning.code == code; });
}

// One run: 13.6 ms where the neighbours take 116 and 0.188 ms, and half of the samples waited for
// other programs.
TEST(ConvAdvice, gives_none_from_times_that_scatter_by_more_than_it_is_worth) {
  ConvResults results = results_with_crossover();
  EXPECT_TRUE(conv_warnings(results).empty());
  for (ConvCell& cell : results.cells) {
    if (!cell.is_timed()) continue;
    const double time_s = cell.time_s();
    cell.samples_s = {time_s / 20, time_s / 4, time_s / 2, time_s,     time_s,
                      time_s,      2 * time_s, 5 * time_s, 9 * time_s, 30 * time_s};
  }
  const ConvAdvice advice = conv_advice(results).front();
  EXPECT_EQ(advice.recommendation, "no advice: times scatter by more than they differ");
  EXPECT_TRUE(advice.stretches.empty());
  EXPECT_TRUE(advice.crossovers.empty());
  EXPECT_FALSE(advice.against_vendor);
  ASSERT_TRUE(advice.fastest.front()) << "the times are shown all the same";
  EXPECT_FALSE(advice.is_clear.front());
  EXPECT_TRUE(warns_of(results, "scattered-times"));
  EXPECT_FALSE(warns_of(results, "busy-machine"));
  const ConvNetworkAdvice network = conv_network_advice(results, results.series.front());
  EXPECT_EQ(network.compared_s, 0);
  EXPECT_FALSE(network.layers.front().is_clear);
}

TEST(ConvAdvice, is_left_of_points_that_are_clear) {
  const ConvShape base{.height = 64, .width = 64, .kernel_height = 3, .kernel_width = 3};
  ConvResults results = made_up_results({conv_sweep(base, "b=1:4")},
                                        {{{"a"}, [](const ConvShape&, ConvPass) { return 1.0; }},
                                         {{"b"}, [](const ConvShape&, ConvPass) { return 2.0; }}});
  for (ConvCell& cell : results.cells) {
    if (cell.strategy == "b" && cell.shape.batch == 2) cell.samples_s = {0.2, 2, 3};
  }
  const ConvAdvice advice = conv_advice(results).front();
  EXPECT_EQ(
      advice.recommendation,
      "take a throughout; no advice at 1 of 4 points: times scatter by more than they differ");
}

// Others had 85 % of the processors: a time may be nearly seven times too long.
TEST(ConvAdvice, of_a_busy_machine_only_large_differences_count) {
  ConvResults results = results_with_crossover();
  for (ConvCell& cell : results.cells) cell.others_share = 0.85;
  EXPECT_EQ(conv_advice(results).front().recommendation,
            "no advice: times scatter by more than they differ at 11 of 12 points");
  EXPECT_TRUE(warns_of(results, "busy-machine"));
  for (ConvCell& cell : results.cells) cell.others_share = 0.02;
  EXPECT_EQ(conv_advice(results).front().recommendation,
            conv_advice(results_with_crossover()).front().recommendation);
  EXPECT_FALSE(warns_of(results, "busy-machine"));
}

TEST(ConvAdvice, leaves_out_what_is_wrong_and_says_nothing_of_nothing) {
  ConvResults results = results_with_crossover();
  for (ConvCell& cell : results.cells) {
    if (cell.strategy == "fft") cell.status = ConvStatus::wrong;
  }
  EXPECT_TRUE(crossings(conv_advice(results).front()).size() == 1U);
  results.cells.clear();
  const auto advice = conv_advice(results).front();
  EXPECT_EQ(advice.recommendation, "");
  EXPECT_FALSE(advice.against_vendor);
  EXPECT_EQ(advice.fastest.size(), 12U);
}

TEST(ConvAdvice, points_that_cannot_be_are_passed_over) {
  ConvSeries sweep = conv_sweep({.height = 4, .width = 4}, "k=0:8");
  const auto results =
      made_up_results({sweep}, {{{"a"}, [](const ConvShape&, ConvPass) { return 1.0; }}});
  const auto advice = conv_advice(results).front();
  EXPECT_FALSE(advice.fastest.front());
  EXPECT_FALSE(advice.fastest.back());
  EXPECT_EQ(advice.recommendation, "take a throughout");
}

TEST(ConvAdvice, adds_up_an_iteration_of_a_network) {
  ConvPoint first = conv_point("b2,c3,i8,f4,k3");
  first.label = "conv1";
  first.counts = {1, 0, 1};
  ConvPoint block = conv_point("b2,c4,i8,f4,k3");
  block.label = "block.conv";
  block.counts = {3, 3, 3};
  const ConvSeries network{"net", false, {first, block}};
  const auto seconds = [](double forward, double other) {
    return [=](const ConvShape&, ConvPass pass) {
      return pass == ConvPass::forward ? forward : other;
    };
  };
  const auto results = made_up_results({network},
                                       {{{"own"}, seconds(1, 4)},
                                        {{"cudnn:pick", true}, seconds(2, 3)},
                                        {{"cudnn:gemm", true}, seconds(9, 9)}},
                                       {all_conv_passes.begin(), all_conv_passes.end()});
  const auto advice = conv_network_advice(results, results.series.front());
  EXPECT_EQ(advice.default_name, "cudnn:pick");
  ASSERT_EQ(advice.layers.size(), 5U);
  EXPECT_EQ(advice.layers[0].best->strategy, "own");
  EXPECT_EQ(advice.layers[1].best->strategy, "cudnn:pick");
  EXPECT_EQ(advice.layers[2].count, 3);
  // forward 4 runs, other passes 1 + 3 + 3 runs.
  EXPECT_DOUBLE_EQ(advice.default_s, 4 * 2 + 7 * 3);
  EXPECT_DOUBLE_EQ(advice.best_s, 4 * 1 + 7 * 3);
  EXPECT_DOUBLE_EQ(advice.compared_s, advice.best_s);
}

}  // namespace
}  // namespace strata
