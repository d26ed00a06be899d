// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace strata {
namespace {

struct StoredNumbers {
  std::int64_t parameters = 0;
  std::int64_t buffers = 0;  ///< running statistics of normalisation
  friend bool operator==(const StoredNumbers&, const StoredNumbers&) = default;
};

StoredNumbers stored_numbers(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  StoredNumbers stored;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const TensorKind kind = graph.tensors[id].kind;
    if (kind == TensorKind::parameter) stored.parameters += bound.tensors[id].elements;
    if (kind == TensorKind::buffer) stored.buffers += bound.tensors[id].elements;
  }
  return stored;
}

StoredNumbers stored_numbers(std::string_view specification) {
  return stored_numbers(build_network(specification));
}

const Node& node_named(const Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const Node& node) { return node.name == name; });
  if (found == graph.nodes.end()) {
    fail(ErrorKind::internal, "{} has no node '{}'", graph.name, name);
  }
  return *found;
}

/// Shape of a node's first output for one image.
Axes output_shape(const Graph& graph, std::string_view node) {
  const BoundGraph bound = bind_graph(graph, {{"batch", 1}});
  return Axes(bound.tensors[node_named(graph, node).outputs.at(0)].shape);
}

struct Published {
  std::string_view specification;
  std::int64_t parameters;
};

// torchvision's documentation, table of classification weights (num_params); with auxiliary heads:
// the same table for Inception v3, and for GoogLeNet the size of the untrained model with its
// default aux_logits=True.
TEST(PublishedParameters, torchvision) {
  constexpr std::array<Published, 16> table{{
      {"alexnet", 61'100'840},
      {"vgg16", 138'357'544},
      {"vgg19", 143'667'240},
      {"googlenet", 6'624'904},
      {"googlenet:auxiliary=yes", 13'004'888},
      {"inception_v3", 23'834'568},
      {"inception_v3:auxiliary=yes", 27'161'264},
      {"resnet18", 11'689'512},
      {"resnet34", 21'797'672},
      {"resnet50", 25'557'032},
      {"resnet101", 44'549'160},
      {"resnet152", 60'192'808},
      {"mobilenet_v2", 3'504'872},
      {"densenet121", 7'978'856},
      {"squeezenet1_1", 1'235'496},
      {"efficientnet_b0", 5'288'548},
  }};
  for (const Published& row : table) {
    EXPECT_EQ(stored_numbers(row.specification).parameters, row.parameters) << row.specification;
  }
}

// What model.summary() prints: total, and "non-trainable" for the statistics.
TEST(PublishedParameters, keras) {
  EXPECT_EQ(stored_numbers("resnet50_keras"), (StoredNumbers{25'636'712 - 53'120, 53'120}));
  EXPECT_EQ(stored_numbers("mobilenet_v1"), (StoredNumbers{4'253'864 - 21'888, 21'888}));
  EXPECT_EQ(stored_numbers("mobilenet_v2_keras"), (StoredNumbers{3'538'984 - 34'112, 34'112}));
}

// A darknet weights file is a header (16 bytes, or 20 since the counter of seen images has 64 bits)
// and then every number in 4 bytes, rolling statistics included. Sizes of the published files.
TEST(PublishedParameters, darknet_weight_files) {
  const auto numbers = [](std::string_view name) {
    const StoredNumbers stored = stored_numbers(name);
    return stored.parameters + stored.buffers;
  };
  constexpr std::int64_t classifier = 1024 * 1000 + 1000;  // the .conv files stop before it
  EXPECT_EQ(4 * numbers("yolov3") + 20, 248'007'048);      // yolov3.weights
  EXPECT_EQ(4 * (numbers("darknet53") - classifier) + 20, 162'482'580);  // darknet53.conv.74
  EXPECT_EQ(4 * (numbers("darknet19") - classifier) + 16, 79'327'120);   // darknet19_448.conv.23
}

// The sum over layers of windows × inputs × outputs + biases, written out from the definitions by
// hand.
TEST(ParametersByHand, networks_without_published_count) {
  constexpr std::int64_t lecun = (25 * 1 * 6 + 6) + (25 * 6 * 16 + 16) + (25 * 16 * 120 + 120) +
                                 (120 * 84 + 84) + (84 * 10 + 10);
  EXPECT_EQ(stored_numbers("lenet5").parameters, lecun);
  constexpr std::int64_t caffe_lenet =
      (25 * 1 * 20 + 20) + (25 * 20 * 50 + 50) + (16 * 50 * 500 + 500) + (500 * 10 + 10);
  EXPECT_EQ(stored_numbers("lenet5:variant=caffe").parameters, caffe_lenet);
  constexpr std::int64_t caffe_alexnet = (121 * 3 * 96 + 96) + (25 * 48 * 256 + 256) +
                                         (9 * 256 * 384 + 384) + (9 * 192 * 384 + 384) +
                                         (9 * 192 * 256 + 256) + (36 * 256 * 4096 + 4096) +
                                         (4096 * 4096 + 4096) + (4096 * 1000 + 1000);
  EXPECT_EQ(stored_numbers("alexnet_caffe").parameters, caffe_alexnet);
  constexpr std::int64_t overfeat = (121 * 3 * 96 + 96) + (25 * 96 * 256 + 256) +
                                    (9 * 256 * 512 + 512) + (9 * 512 * 1024 + 1024) +
                                    (9 * 1024 * 1024 + 1024) + (36 * 1024 * 3072 + 3072) +
                                    (3072 * 4096 + 4096) + (4096 * 1000 + 1000);
  EXPECT_EQ(stored_numbers("overfeat").parameters, overfeat);
}

TEST(ImageNetworks, default_batch_is_32_but_for_the_single_convolutions) {
  for (const Network& network : image_networks()) {
    const Graph graph = build_network(network.name);
    const std::int64_t batch = bind_graph(graph, {}).tensors[graph.inputs.at(0)][0];
    const bool is_layer = network.name.starts_with("conv_layer");
    EXPECT_EQ(batch, network.name == "conv2d" ? 16 : is_layer ? 128 : 32) << network.name;
  }
}

TEST(ImageNetworks, classes_are_the_last_layer) {
  for (const Network& network : image_networks()) {
    const auto& parameters = network.parameters;
    const bool has_classes = std::any_of(parameters.begin(), parameters.end(),
                                         [](const auto& p) { return p.name == "classes"; });
    if (!has_classes || network.name == "yolov3") continue;
    const Graph graph = build_network(std::string(network.name) + ":classes=7");
    ASSERT_EQ(graph.outputs.size(), 1U) << network.name;
    EXPECT_EQ(bind_graph(graph, {{"batch", 1}}).tensors[graph.outputs[0]].shape, (Axes{1, 7}))
        << network.name;
  }
}

// Layers are found by the names under which torchvision stores their weights.
TEST(ImageNetworks, layers_have_the_names_of_torchvision) {
  const Graph resnet = build_network("resnet50");
  EXPECT_EQ(node_named(resnet, "layer2.0.downsample.0").block, "layer2.0");
  EXPECT_EQ(node_named(resnet, "layer4.2.bn3").block, "layer4.2");
  EXPECT_EQ(output_shape(resnet, "layer3.0.conv2"), (Axes{1, 256, 14, 14}));
  EXPECT_EQ(output_shape(build_network("alexnet"), "features.10"), (Axes{1, 256, 13, 13}));
  EXPECT_EQ(output_shape(build_network("vgg19"), "features.36"), (Axes{1, 512, 7, 7}));
  EXPECT_EQ(output_shape(build_network("googlenet"), "inception4e.branch3.1.conv"),
            (Axes{1, 128, 14, 14}));
  EXPECT_EQ(output_shape(build_network("inception_v3"), "Mixed_7a.branch7x7x3_4.conv"),
            (Axes{1, 192, 8, 8}));
  EXPECT_EQ(output_shape(build_network("mobilenet_v2"), "features.17.conv.2"),
            (Axes{1, 320, 7, 7}));
  EXPECT_EQ(output_shape(build_network("densenet121"), "features.denseblock4.denselayer16.conv2"),
            (Axes{1, 32, 7, 7}));
  EXPECT_EQ(output_shape(build_network("squeezenet1_1"), "features.12.expand3x3"),
            (Axes{1, 256, 13, 13}));
  EXPECT_EQ(output_shape(build_network("efficientnet_b0"), "features.6.3.block.2.fc1"),
            (Axes{1, 48, 1, 1}));
}

// Fusing zero padding into the window changes neither weights nor the shapes of what remains.
TEST(ImageNetworks, padding_can_be_fused) {
  const std::array<std::string, 3> names{"resnet50_keras", "mobilenet_v1", "mobilenet_v2_keras"};
  for (const std::string& name : names) {
    const Graph padded = build_network(name);
    const Graph fused = build_network(name + ":padding=fused");
    EXPECT_EQ(stored_numbers(padded), stored_numbers(fused)) << name;
    const BoundGraph bound_padded = bind_graph(padded, {});
    const BoundGraph bound_fused = bind_graph(fused, {});
    auto place = fused.nodes.begin();
    std::size_t pads = 0;
    for (const Node& node : padded.nodes) {
      if (std::holds_alternative<Pad>(node.op)) {
        ++pads;
        continue;
      }
      ASSERT_NE(place, fused.nodes.end()) << name;
      EXPECT_EQ(place->name, node.name);
      EXPECT_EQ(bound_fused.tensors[place->outputs[0]].shape,
                bound_padded.tensors[node.outputs[0]].shape)
          << name << ": " << node.name;
      ++place;
    }
    EXPECT_EQ(place, fused.nodes.end()) << name;
    EXPECT_EQ(pads, name == "resnet50_keras" ? 2U : 4U) << name;
  }
}

// On maps of odd size Keras pads both sides before a strided depthwise convolution: 97 → 49,
// not 48.
TEST(ImageNetworks, keras_padding_follows_the_size_of_the_map) {
  const Graph graph = build_network("mobilenet_v2_keras:image=194");
  EXPECT_EQ(output_shape(graph, "block_1_pad"), (Axes{1, 96, 99, 99}));
  EXPECT_EQ(output_shape(graph, "block_1_depthwise"), (Axes{1, 96, 49, 49}));
}

TEST(ImageNetworks, auxiliary_heads_are_outputs) {
  EXPECT_EQ(build_network("googlenet").outputs.size(), 1U);
  EXPECT_EQ(build_network("googlenet:auxiliary=yes").outputs.size(), 3U);
  EXPECT_EQ(build_network("inception_v3:auxiliary=yes").outputs.size(), 2U);
}

TEST(ImageNetworks, yolov3_detects_on_three_scales) {
  const Graph graph = build_network("yolov3:classes=20,image=608");
  const BoundGraph bound = bind_graph(graph, {{"batch", 1}});
  ASSERT_EQ(graph.outputs.size(), 3U);
  EXPECT_EQ(bound.tensors[graph.outputs[0]].shape, (Axes{1, 75, 19, 19}));
  EXPECT_EQ(bound.tensors[graph.outputs[1]].shape, (Axes{1, 75, 38, 38}));
  EXPECT_EQ(bound.tensors[graph.outputs[2]].shape, (Axes{1, 75, 76, 76}));
  EXPECT_EQ(node_named(graph, "yolo_106").block, "head_fine");
  EXPECT_THROW(build_network("yolov3:image=400"), Error);
}

// Batch, input side, filters, window, stride and channels as published; no padding, so the side
// shrinks.
TEST(ImageNetworks, single_convolutions_are_those_of_the_papers) {
  const auto shapes = [](std::string_view name) {
    const Graph graph = build_network(name);
    EXPECT_EQ(graph.nodes.size(), 1U);
    const BoundGraph bound = bind_graph(graph, {});
    return std::pair(Axes(bound.tensors[graph.inputs[0]].shape),
                     Axes(bound.tensors[graph.outputs[0]].shape));
  };
  EXPECT_EQ(shapes("conv2d"), (std::pair<Axes, Axes>({16, 64, 112, 112}, {16, 64, 55, 55})));
  EXPECT_EQ(shapes("conv2d:filters=256,kernel=9,stride=3,image=64,channels=8"),
            (std::pair<Axes, Axes>({16, 8, 64, 64}, {16, 256, 19, 19})));
  EXPECT_EQ(shapes("conv_layer1"),
            (std::pair<Axes, Axes>({128, 3, 128, 128}, {128, 96, 118, 118})));
  EXPECT_EQ(shapes("conv_layer2"),
            (std::pair<Axes, Axes>({128, 3, 128, 128}, {128, 96, 126, 126})));
  EXPECT_EQ(shapes("conv_layer3"), (std::pair<Axes, Axes>({128, 128, 32, 32}, {128, 128, 24, 24})));
  EXPECT_EQ(shapes("conv_layer4"), (std::pair<Axes, Axes>({128, 128, 16, 16}, {128, 128, 10, 10})));
  EXPECT_EQ(shapes("conv_layer5"), (std::pair<Axes, Axes>({128, 384, 13, 13}, {128, 384, 11, 11})));
}

}  // namespace
}  // namespace strata
