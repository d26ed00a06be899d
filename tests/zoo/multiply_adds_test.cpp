// SPDX-License-Identifier: Apache-2.0
// Multiply-adds of the built-in image networks against what others have published, for one image.
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string_view>

namespace strata {
namespace {

std::int64_t multiply_adds(std::string_view specification) {
  const Graph graph = build_network(specification);
  std::int64_t mac = 0;
  for (const NodeCost& cost : costs_of(bind_graph(graph, {{"batch", 1}}), Mode::inference)) {
    EXPECT_TRUE(cost.is_counted);
    mac += cost.forward.mac;
  }
  return mac;
}

struct Published {
  std::string_view specification;
  double giga;
};

// torchvision's documentation, column GFLOPS of the table of classification weights. Its unit is
// multiply-adds of convolutions and matrix products, bias and everything else left out: the same as
// Strata's mac, so that all rows agree to the last printed digit.
TEST(PublishedMultiplyAdds, torchvision) {
  constexpr std::array<Published, 14> table{{
      {"alexnet", 0.71},
      {"vgg16", 15.47},
      {"vgg19", 19.63},
      {"googlenet", 1.50},
      {"inception_v3", 5.71},
      {"resnet18", 1.81},
      {"resnet34", 3.66},
      {"resnet50", 4.09},
      {"resnet101", 7.80},
      {"resnet152", 11.51},
      {"mobilenet_v2", 0.30},
      {"densenet121", 2.83},
      {"squeezenet1_1", 0.35},
      {"efficientnet_b0", 0.39},
  }};
  for (const Published& row : table) {
    const double giga = static_cast<double>(multiply_adds(row.specification)) / 1e9;
    EXPECT_NEAR(std::round(giga * 100), row.giga * 100, 1e-6) << row.specification << ": " << giga;
  }
}

// The author's pages on YOLO and on his ImageNet classifiers, column "Bn ops": darknet counts 2 per
// multiply-add of its convolutions.
TEST(PublishedMultiplyAdds, darknet) {
  constexpr std::array<Published, 5> table{{
      {"yolov3:image=320", 38.97},
      {"yolov3:image=416", 65.86},
      {"yolov3:image=608", 140.69},
      {"darknet19:image=256", 7.29},
      {"darknet53:image=256", 18.57},
  }};
  for (const Published& row : table) {
    const double giga = 2 * static_cast<double>(multiply_adds(row.specification)) / 1e9;
    EXPECT_NEAR(std::round(giga * 100), row.giga * 100, 1e-6) << row.specification << ": " << giga;
  }
}

// Howard et al. 2017, table 8: 569 million mult-adds for MobileNet 1.0 at 224. Keras's zero-padding
// layers compute nothing.
TEST(PublishedMultiplyAdds, keras) {
  EXPECT_EQ(std::llround(static_cast<double>(multiply_adds("mobilenet_v1")) / 1e6), 569);
  for (const std::string_view name : {"resnet50_keras", "mobilenet_v1", "mobilenet_v2_keras"}) {
    EXPECT_EQ(multiply_adds(name), multiply_adds(std::string(name) + ":padding=fused")) << name;
  }
}

// Outputs × window × inputs, from the definition of each layer.
TEST(MultiplyAddsByHand, single_convolutions) {
  EXPECT_EQ(multiply_adds("conv2d"), 64LL * 55 * 55 * 9 * 64);
  EXPECT_EQ(multiply_adds("conv_layer1"), 96LL * 118 * 118 * 121 * 3);
  EXPECT_EQ(multiply_adds("conv_layer2"), 96LL * 126 * 126 * 9 * 3);
  EXPECT_EQ(multiply_adds("conv_layer3"), 128LL * 24 * 24 * 81 * 128);
  EXPECT_EQ(multiply_adds("conv_layer4"), 128LL * 10 * 10 * 49 * 128);
  EXPECT_EQ(multiply_adds("conv_layer5"), 384LL * 11 * 11 * 9 * 384);
}

}  // namespace
}  // namespace strata
