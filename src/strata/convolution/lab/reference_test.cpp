// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/reference.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

std::vector<float> random_values(std::int64_t count, std::mt19937& random) {
  std::uniform_int_distribution<int> whole(-8, 8);  // products and sums of these are exact
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(whole(random));
  return values;
}

double dot(const std::vector<double>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * static_cast<double>(b[i]);
  return sum;
}

TEST(ConvReference, a_hand_computed_convolution) {
  const ConvShape shape{.height = 3, .width = 3, .kernel_height = 2, .kernel_width = 2};
  const std::vector<float> input = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<float> weights = {1, 0, 0, -1};
  EXPECT_EQ(reference_result(shape, ConvPass::forward, {input, weights, {}}),
            (std::vector<double>{-4, -4, -4, -4}));
}

// ⟨conv(x, w), g⟩ is linear in x and in w, so both gradients follow from the forward sum alone.
TEST(ConvReference, both_gradients_are_adjoints_of_the_forward_pass) {
  std::mt19937 random(7);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int tried = 0;
  while (tried < 200) {
    const std::int64_t groups = pick(1, 3);
    const ConvShape shape{.batch = pick(1, 3),
                          .channels = groups * pick(1, 3),
                          .height = pick(1, 9),
                          .width = pick(1, 9),
                          .filters = groups * pick(1, 3),
                          .kernel_height = pick(1, 4),
                          .kernel_width = pick(1, 4),
                          .stride_height = pick(1, 3),
                          .stride_width = pick(1, 3),
                          .pad_height = pick(0, 2),
                          .pad_width = pick(0, 2),
                          .dilation_height = pick(1, 2),
                          .dilation_width = pick(1, 2),
                          .groups = groups};
    if (refusal_of(shape)) continue;
    ++tried;
    const auto input = random_values(shape.input_elements(), random);
    const auto weights = random_values(shape.weight_elements(), random);
    const auto gradient = random_values(shape.output_elements(), random);
    const ConvData data{input, weights, gradient};
    const double expected = dot(reference_result(shape, ConvPass::forward, data), gradient);
    EXPECT_EQ(dot(reference_result(shape, ConvPass::input_gradient, data), input), expected);
    EXPECT_EQ(dot(reference_result(shape, ConvPass::weight_gradient, data), weights), expected);
  }
}

TEST(ConvShape, what_is_no_convolution_is_refused_with_the_reason) {
  ConvShape shape{.channels = 4, .height = 5, .width = 5, .filters = 6, .kernel_height = 3};
  EXPECT_FALSE(refusal_of(shape));
  shape.kernel_height = 6;
  EXPECT_EQ(refusal_of(shape),
            "the kernel 6×1 with dilation 1 is larger than the padded input 5×5");
  shape.pad_height = 1;
  EXPECT_FALSE(refusal_of(shape));
  shape.groups = 4;
  EXPECT_EQ(refusal_of(shape), "4 groups do not divide 4 channels and 6 filters");
  shape.groups = 1;
  shape.stride_width = 0;
  EXPECT_EQ(refusal_of(shape), "stride must be at least 1, got 0");
  shape.stride_width = 1;
  shape.batch = std::int64_t{1} << 60;
  EXPECT_EQ(refusal_of(shape), "its counts do not fit 64 bits");
}

TEST(ConvShape, flop_of_a_published_layer) {
  // The first layer of AlexNet as torchvision counts it: 70.3 M multiply-adds at batch 1.
  const ConvShape shape{.channels = 3,
                        .height = 224,
                        .width = 224,
                        .filters = 64,
                        .kernel_height = 11,
                        .kernel_width = 11,
                        .stride_height = 4,
                        .stride_width = 4,
                        .pad_height = 2,
                        .pad_width = 2};
  EXPECT_EQ(shape.output_height(), 55);
  EXPECT_EQ(direct_flop(shape), 2 * 70'276'800);
}

}  // namespace
}  // namespace strata
