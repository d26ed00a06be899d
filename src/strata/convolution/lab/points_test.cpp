// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/points.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <set>

namespace strata {
namespace {

std::string refusal_text(const auto& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(ConvPoints, a_base_is_five_sizes_and_channels) {
  const ConvShape base = conv_base("64,128,32,11,2", 3);
  EXPECT_EQ(to_text(base), "b64 c3 128×128 f32 k11×11 s2 p0");
  EXPECT_NE(refusal_text([] { conv_base("64,128,64,11", 3); }), "");
  EXPECT_NE(refusal_text([] { conv_base("64,128,64,eleven,1", 3); }), "");
}

TEST(ConvPoints, a_sweep_changes_one_size) {
  const ConvShape base = conv_base("64,128,64,11,1", 3);
  const ConvSeries sweep = conv_sweep(base, "k=2:13");
  ASSERT_EQ(sweep.points.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto k = static_cast<std::int64_t>(i) + 2;
    ConvShape expected = base;
    expected.kernel_height = expected.kernel_width = k;
    EXPECT_EQ(sweep.points[i].shape, expected);
    EXPECT_EQ(sweep.points[i].at, k);
  }
  EXPECT_EQ(conv_sweep(base, "b=32:512:32").points.size(), 16U);
  EXPECT_EQ(conv_sweep(base, "i=32:256:16").points.back().shape.width, 256);
  EXPECT_EQ(conv_sweep(base, "i=5:9:3").points.back().at, 8);
  const ConvSeries listed = conv_sweep(base, "c=8,3,8,1:2");
  ASSERT_EQ(listed.points.size(), 4U);  // ascending, each once
  EXPECT_EQ(listed.points[2].shape.channels, 3);
}

TEST(ConvPoints, what_is_no_sweep_is_refused_with_a_reason) {
  const ConvShape base = conv_base("64,128,64,11,1", 3);
  for (const char* text : {"", "k", "k=", "z=1:2", "k=5:2", "k=1:2:0", "k=1:2:3:4", "k=1:99999999",
                           "k=-9223372036854775808:9223372036854775807", "k=a:b", "k=1:2:-1"}) {
    EXPECT_NE(refusal_text([&] { conv_sweep(base, text); }), "") << text;
  }
}

TEST(ConvPoints, impossible_points_are_kept_and_refuse_themselves) {
  const ConvSeries sweep = conv_sweep(conv_base("1,4,1,1,1", 1), "k=-1:6");
  ASSERT_EQ(sweep.points.size(), 8U);
  std::size_t refused = 0;
  for (const ConvPoint& point : sweep.points) refused += refusal_of(point.shape) ? 1 : 0;
  EXPECT_EQ(refused, 4U);  // −1 and 0; 5 and 6
  EXPECT_EQ(distinct_points(std::span(&sweep, 1)).size(), 4U);
}

TEST(ConvPoints, a_shape_names_its_sizes_in_any_order) {
  const ConvShape shape = conv_point("b64,c4,h128,w96,f64,k3x5,s1x2,p1,d2,g2").shape;
  const ConvShape expected{.batch = 64,
                           .channels = 4,
                           .height = 128,
                           .width = 96,
                           .filters = 64,
                           .kernel_height = 3,
                           .kernel_width = 5,
                           .stride_height = 1,
                           .stride_width = 2,
                           .pad_height = 1,
                           .pad_width = 1,
                           .dilation_height = 2,
                           .dilation_width = 2,
                           .groups = 2};
  EXPECT_EQ(shape, expected);
  EXPECT_EQ(conv_point("k3,i7").shape, conv_point("i7,k3x3").shape);
  for (const char* text : {"", "q3", "b", "b2x3", "k1x2x3", "b1,b2", "b1,,c2", "b 1x"})
    EXPECT_NE(refusal_text([&] { conv_point(text); }), "") << text;
}

TEST(ConvPoints, the_suites_are_those_of_the_study) {
  const auto paper = conv_suite("paper");
  ASSERT_EQ(paper.size(), 6U);
  const std::size_t sizes[] = {16, 15, 31, 12, 4, 5};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(paper[i].points.size(), sizes[i]) << paper[i].name;
  // The base point is on all five sweeps, and once in the work to do.
  EXPECT_EQ(distinct_points(paper).size(), 83U - 4U);
  EXPECT_EQ(to_text(paper[5].points[2].shape), "b128 c128 32×32 f128 k9×9 s1 p0");
  const auto cpu = conv_suite("cpu");
  ASSERT_EQ(cpu.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    ASSERT_EQ(cpu[i].points.size(), sizes[i]);
    for (std::size_t k = 0; k < sizes[i]; ++k) {
      EXPECT_EQ(cpu[i].points[k].shape.batch * 32, paper[i].points[k].shape.batch);
    }
  }
  EXPECT_NE(refusal_text([] { conv_suite("papers"); }), "");
  EXPECT_NE(refusal_text([] { conv_layer("conv6"); }).find("conv5"), std::string::npos);
}

}  // namespace
}  // namespace strata
