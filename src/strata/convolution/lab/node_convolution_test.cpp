// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/node_convolution.hpp"

#include "strata/graph/builder.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

/// The only node of a network with this input.
NodeConvolution only(const Shape& input, const Convolution& op) {
  GraphBuilder builder("one");
  builder.add("layer", op, {builder.input("x", input)});
  const Graph graph = std::move(builder).finish();
  const BoundGraph bound = bind_graph(graph, {});
  const auto found = convolution_of(bound, graph.nodes[0]);
  return found.value_or(NodeConvolution{.shape = {}, .refusal = "no convolution"});
}

TEST(NodeConvolution, one_dimension_is_two_with_height_1) {
  const NodeConvolution found = only(
      Shape{2, 6, 20},
      {.channels = 4, .kernel = {5}, .stride = {3}, .pad_begin = {2}, .pad_end = {2}, .groups = 2});
  EXPECT_EQ(found.refusal, std::nullopt);
  EXPECT_EQ(found.shape, (ConvShape{.batch = 2,
                                    .channels = 6,
                                    .width = 20,
                                    .filters = 4,
                                    .kernel_width = 5,
                                    .stride_width = 3,
                                    .pad_width = 2,
                                    .groups = 2}));
  EXPECT_FALSE(found.has_uneven_padding);
}

TEST(NodeConvolution, uneven_padding_becomes_a_larger_input) {
  const NodeConvolution found = only(
      Shape{1, 3, 8, 9},
      {.channels = 4, .kernel = {3, 3}, .stride = {2, 2}, .pad_begin = {0, 1}, .pad_end = {1, 1}});
  EXPECT_TRUE(found.has_uneven_padding);
  EXPECT_EQ(found.shape.height, 9);
  EXPECT_EQ(found.shape.pad_height, 0);
  EXPECT_EQ(found.shape.width, 9);
  EXPECT_EQ(found.shape.pad_width, 1);
  EXPECT_EQ(found.shape.output_height(), 4);
}

TEST(NodeConvolution, a_transposed_one_is_the_gradient_of_the_other) {
  const NodeConvolution found = only(
      Shape{1, 3, 4, 4}, {.channels = 8, .kernel = {2, 2}, .stride = {2, 2}, .transposed = true});
  EXPECT_TRUE(found.is_transposed);
  EXPECT_EQ(found.shape.channels, 8);
  EXPECT_EQ(found.shape.filters, 3);
  EXPECT_EQ(found.shape.height, 8);
  EXPECT_EQ(found.shape.output_height(), 4);
  EXPECT_EQ(found.pass_of(ConvPass::forward), ConvPass::input_gradient);
  EXPECT_EQ(found.pass_of(ConvPass::input_gradient), ConvPass::forward);
  EXPECT_EQ(found.pass_of(ConvPass::weight_gradient), ConvPass::weight_gradient);
}

TEST(NodeConvolution, three_dimensions_are_refused) {
  const NodeConvolution found = only(Shape{1, 3, 4, 4, 4}, {.channels = 8, .kernel = {3, 3, 3}});
  EXPECT_EQ(found.refusal, "three dimensions");
}

}  // namespace
}  // namespace strata
