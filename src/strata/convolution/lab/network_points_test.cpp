// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/network_points.hpp"

#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

/// FLOP of products of all convolutions, counted by the graph's own cost.
TEST(NetworkPoints, have_the_arithmetic_of_the_network) {
  for (const char* name : {"resnet50", "vgg16", "mobilenet_v2", "googlenet"}) {
    const Graph graph = build_network(name);
    const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
    const NetworkConvolutions found = network_convolutions(bound);
    EXPECT_TRUE(found.left_out.empty()) << name;
    std::int64_t convolutions = 0;
    std::int64_t mac = 0;
    for (const Node& node : graph.nodes) {
      const auto* op = std::get_if<Convolution>(&node.op);
      if (op == nullptr) continue;
      ++convolutions;
      const BoundTensor& y = bound.tensors[node.outputs[0]];
      mac += y.elements * bound.tensors[node.inputs[0]][1] / op->groups * op->kernel[0] *
             op->kernel[1];
    }
    std::int64_t forward = 0;
    std::int64_t flop = 0;
    std::int64_t input_gradients = 0;
    for (const ConvPoint& point : found.series.points) {
      forward += point.counts[0];
      input_gradients += point.counts[1];
      flop += point.counts[0] * direct_flop(point.shape);
      EXPECT_EQ(point.counts[0], point.counts[2]);
    }
    EXPECT_EQ(forward, convolutions) << name;
    EXPECT_EQ(input_gradients, convolutions - 1) << "no gradient of the picture itself: " << name;
    EXPECT_EQ(flop, 2 * mac) << name;
    EXPECT_LT(found.series.points.size(), static_cast<std::size_t>(convolutions)) << name;
  }
}

}  // namespace
}  // namespace strata
