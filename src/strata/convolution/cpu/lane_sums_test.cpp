// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct.hpp"
#include "strata/convolution/lab/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace strata::cpu {
namespace {

class NoLaneMarks : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

std::vector<float> lane_values(std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

std::int64_t lane_pick(std::mt19937& random, int least, int most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

struct LaneCase {
  ConvShape shape;
  ConvPass pass = ConvPass::forward;
  int threads = 1;
};

/// False: lanes are not for this shape.
bool check_lanes(const LaneCase& one, std::mt19937& random) {
  const ConvShape& s = one.shape;
  auto plan = lane_plan(s, one.pass, one.threads);
  if (!plan) return false;
  const bool is_forward = one.pass == ConvPass::forward;
  std::vector<float> input = lane_values(s.input_elements(), random);
  std::vector<float> weights = lane_values(s.weight_elements(), random);
  std::vector<float> output = lane_values(s.output_elements(), random);
  const std::vector<double> expected = reference_result(s, one.pass, {input, weights, output});
  std::vector<float>& result = is_forward ? output : input;
  std::fill(result.begin(), result.end(), std::numeric_limits<float>::quiet_NaN());
  const ConvProblem problem{s, one.pass};
  const auto prepared =
      prepare_lane_sums(problem, std::move(*plan), std::make_shared<Threads>(one.threads));
  NoLaneMarks marks;
  prepared->run({input.data(), weights.data(), output.data()}, marks);
  EXPECT_LE(relative_error(result, expected), rounding_tolerance(problem)) << to_text(s);
  return true;
}

// Whether or not the strategy would take lanes for them.
TEST(LaneSums, compute_what_the_definition_says) {
  if (const auto reason = vector_refusal()) GTEST_SKIP() << *reason;
  std::mt19937 random(11);
  int computed = 0;
  for (int number = 0; number < 100 && !HasFailure(); ++number) {
    const std::int64_t groups = number % 5 == 0 ? 2 : 1;
    const ConvShape shape{.batch = lane_pick(random, 1, 3),
                          .channels = groups * lane_pick(random, 1, number % 2 == 0 ? 4 : 35),
                          .height = lane_pick(random, 1, 19),
                          .width = lane_pick(random, 1, 33),
                          .filters = groups * lane_pick(random, 1, number % 2 == 0 ? 35 : 4),
                          .kernel_height = lane_pick(random, 1, 5),
                          .kernel_width = lane_pick(random, 1, 5),
                          .stride_height = lane_pick(random, 1, 3),
                          .stride_width = lane_pick(random, 1, 3),
                          .pad_height = lane_pick(random, 0, 3),
                          .pad_width = lane_pick(random, 0, 2),
                          .dilation_height = lane_pick(random, 1, 2),
                          .dilation_width = number % 4 == 0 ? 2 : 1,
                          .groups = groups};
    if (refusal_of(shape)) continue;
    const int threads = number % 3 == 0 ? 3 : 1;
    for (const ConvPass pass : {ConvPass::forward, ConvPass::input_gradient}) {
      computed += check_lanes({shape, pass, threads}, random) ? 1 : 0;
    }
  }
  EXPECT_GE(computed, 80);
}

// The layers that they were made for, with fewer channels.
TEST(LaneSums, take_the_shapes_of_networks) {
  if (const auto reason = vector_refusal()) GTEST_SKIP() << *reason;
  std::mt19937 random(12);
  for (const auto& [size, kernel, stride, pad] : {std::array<std::int64_t, 4>{27, 5, 1, 2},
                                                  {13, 3, 1, 1},
                                                  {28, 3, 2, 1},
                                                  {7, 3, 1, 1},
                                                  {30, 7, 2, 3},
                                                  {14, 1, 2, 0}}) {
    const ConvShape shape{.batch = 2,
                          .channels = 5,
                          .height = size,
                          .width = size,
                          .filters = 9,
                          .kernel_height = kernel,
                          .kernel_width = kernel,
                          .stride_height = stride,
                          .stride_width = stride,
                          .pad_height = pad,
                          .pad_width = pad};
    for (const ConvPass pass : {ConvPass::forward, ConvPass::input_gradient}) {
      EXPECT_TRUE(check_lanes({shape, pass, 2}, random)) << to_text(shape);
    }
  }
}

TEST(LaneSums, do_not_multiply_with_padding) {
  if (const auto reason = vector_refusal()) GTEST_SKIP() << *reason;
  const ConvShape shape{.height = 4,
                        .width = 4,
                        .kernel_height = 3,
                        .kernel_width = 3,
                        .pad_height = 1,
                        .pad_width = 1};
  std::vector<float> input(16, 1.0F), weights(9, 1.0F), output(16, 0.0F);
  weights[0] = std::numeric_limits<float>::infinity();  // of the pixel above to the left
  const auto prepared =
      prepare_lane_sums({shape, ConvPass::forward}, *lane_plan(shape, ConvPass::forward, 1),
                        std::make_shared<Threads>(1));
  NoLaneMarks marks;
  prepared->run({input.data(), weights.data(), output.data()}, marks);
  for (std::size_t i = 0; i < 16; ++i) {
    const bool is_at_padding = i < 4 || i % 4 == 0;
    EXPECT_EQ(std::isinf(output[i]), !is_at_padding) << i;
    EXPECT_FALSE(std::isnan(output[i])) << i;
  }
  EXPECT_EQ(output[0], 4);
}

}  // namespace
}  // namespace strata::cpu
