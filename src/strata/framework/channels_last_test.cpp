// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/channels_last.hpp"

#include "strata/graph/builder.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

bool lays_channels_last(std::string_view network) {
  const Graph graph = build_network(network);
  return prefers_channels_last(bind_graph(graph, {}));
}

TEST(ChannelsLast, is_how_most_convolutional_networks_are_laid_out) {
  for (const char* name : {"resnet18", "resnet50", "mobilenet_v2", "vgg16"})
    EXPECT_TRUE(lays_channels_last(name)) << name;
  EXPECT_FALSE(lays_channels_last("densenet121")) << "3 × 3 over 128 channels with 32 filters";
  EXPECT_FALSE(lays_channels_last("vit_b_16")) << "one convolution";
  EXPECT_FALSE(lays_channels_last("bert_base")) << "none";
}

TEST(ChannelsLast, is_not_for_small_convolutions_alone) {
  const auto with_filters = [](std::int64_t filters) {
    GraphBuilder b("net");
    b.add("conv", Convolution{.channels = filters, .kernel = {3, 3}},
          {b.input("x", {2, 32, 8, 8})});
    const Graph graph = std::move(b).finish();
    return prefers_channels_last(bind_graph(graph, {}));
  };
  EXPECT_FALSE(with_filters(64));
  EXPECT_TRUE(with_filters(65));
  EXPECT_FALSE(with_filters(16)) << "half as many filters as channels";
}

TEST(ChannelsLast, is_not_for_groups_unless_each_is_a_channel) {
  const auto with_groups = [](std::int64_t groups) {
    GraphBuilder b("net");
    const Convolution op{.channels = 128, .kernel = {3, 3}, .groups = groups};
    b.add("conv", op, {b.input("x", {2, 128, 8, 8})});
    const Graph graph = std::move(b).finish();
    return prefers_channels_last(bind_graph(graph, {}));
  };
  EXPECT_TRUE(with_groups(1));
  EXPECT_TRUE(with_groups(128));
  EXPECT_FALSE(with_groups(4));
}

}  // namespace
}  // namespace strata
