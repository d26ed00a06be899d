// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/memory_layouts.hpp"

#include "strata/framework/small_network_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using small_network::Lines;
using small_network::Net;

// A block of ConvNeXt: what was normalised with channels last goes through a depthwise convolution.
TEST(MemoryLayouts, a_convolution_after_a_view_runs_with_channels_last_and_copies_nothing) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 8, 8, 16});
  const TensorId fc = net.builder.add("fc", Linear{.features = 16}, {x});
  const TensorId images = net.builder.add("to_images", Transpose{{0, 3, 1, 2}}, {fc});
  const Convolution depthwise{.channels = 16,
                              .kernel = {3, 3},
                              .pad_begin = {1, 1},
                              .pad_end = {1, 1},
                              .groups = 16,
                              .bias = false};
  const TensorId y = net.builder.add("conv", depthwise, {images});
  const TensorId back = net.builder.add("to_rows", Transpose{{0, 2, 3, 1}}, {y});
  net.builder.add("norm", LayerNorm{}, {back});
  net.finish();
  EXPECT_EQ(net.lines("conv forward"), Lines{"depthwise_nhwc.forward fp32 2 16 16 64 64 9 16"});
  EXPECT_EQ(net.lines_of_class("heads.permute_contiguous"), Lines{});
  EXPECT_EQ(net.lines_of_class("heads.transpose_contiguous"), Lines{});
  EXPECT_EQ(net.lines("to_images forward"), Lines{});
}

// A block of MLP-Mixer: a linear layer over what was transposed reads a copy, forward and backward.
TEST(MemoryLayouts, an_operator_that_wants_its_input_in_order_copies_it) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 8, 16});
  const TensorId fc = net.builder.add("fc1", Linear{.features = 16}, {x});
  const TensorId y = net.builder.add("transpose", Transpose{{0, 2, 1}}, {fc});
  const TensorId active = net.builder.add("relu", Unary{}, {y});  // follows the view
  net.builder.add("fc2", Linear{.features = 4, .bias = false}, {active});
  net.finish();
  EXPECT_EQ(net.lines("fc2 forward"),
            (Lines{"heads.transpose_contiguous fp32 256", "linear.forward_no_bias fp32 1 32 4 8"}));
  EXPECT_EQ(net.lines_of_class("heads.transpose_contiguous").size(), 2U);
  EXPECT_EQ(net.lines("relu forward"), Lines{"relu.forward fp32 256"});
}

TEST(MemoryLayouts, heads_keep_their_last_axis) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 8, 4, 16});
  const TensorId fc = net.builder.add("fc", Linear{.features = 16}, {x});
  const TensorId heads = net.builder.add("heads", Transpose{{0, 2, 1, 3}}, {fc});
  net.builder.add("softmax", Softmax{}, {heads});
  net.finish();
  EXPECT_EQ(net.lines("softmax forward"),
            (Lines{"heads.permute_contiguous fp32 1024", "softmax.forward fp32 64 16"}));
}

TEST(MemoryLayouts, two_transposes_cancel) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 8, 16});
  const TensorId there = net.builder.add("there", Transpose{{0, 2, 1}}, {x});
  const TensorId back = net.builder.add("back", Transpose{{0, 2, 1}}, {there});
  net.builder.add("fc", Linear{.features = 4, .bias = false}, {back});
  net.finish();
  EXPECT_EQ(net.lines("fc forward"), Lines{"linear.forward_no_bias fp32 1 16 4 16"});
}

TEST(MemoryLayouts, are_in_order_where_a_framework_transposes_by_kernels) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 8, 16});
  const TensorId y = net.builder.add("transpose", Transpose{{0, 2, 1}}, {x});
  net.builder.add("fc", Linear{.features = 4}, {y});
  net.finish();
  const MemoryLayouts layouts = memory_layouts(net.bound, framework_named("strata"));
  EXPECT_EQ(std::count(layouts.is_strided.begin(), layouts.is_strided.end(), true), 0);
}

}  // namespace
}  // namespace strata
