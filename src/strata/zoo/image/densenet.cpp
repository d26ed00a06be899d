// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace strata::zoo {
namespace {

constexpr std::int64_t growth = 32;           // channels each dense layer adds
constexpr std::int64_t bottleneck_width = 4;  // inner channels of a dense layer, in units of growth
constexpr std::array<int, 4> layers_per_block{6, 12, 24, 16};

TensorId norm_relu(GraphBuilder& builder, std::string_view norm, std::string_view relu_name,
                   TensorId x) {
  return relu(builder, relu_name, batch_norm(builder, norm, x));
}

/// Reads everything the block has made so far and adds `growth` channels to it.
TensorId dense_layer(GraphBuilder& builder, std::span<const TensorId> features) {
  TensorId x = concat(builder, "cat", features);
  x = norm_relu(builder, "norm1", "relu1", x);
  x = conv(builder, "conv1", Conv2d{.channels = bottleneck_width * growth}, x);
  x = norm_relu(builder, "norm2", "relu2", x);
  return conv(builder, "conv2", Conv2d{.channels = growth, .kernel = 3, .padding = 1}, x);
}

TensorId dense_block(GraphBuilder& builder, std::string_view name, int layers, TensorId x) {
  std::vector<TensorId> features{x};
  for (int layer = 1; layer <= layers; ++layer) {
    const GraphBuilder::Scope scope(builder, fmt::format("{}.denselayer{}", name, layer));
    features.push_back(dense_layer(builder, features));
  }
  const GraphBuilder::Scope scope(builder, name);
  return concat(builder, "cat", features);
}

/// Halves channels and map.
TensorId transition(GraphBuilder& builder, std::string_view name, TensorId x) {
  const GraphBuilder::Scope scope(builder, name);
  x = norm_relu(builder, "norm", "relu", x);
  x = conv(builder, "conv", Conv2d{.channels = builder.extent(x, 1) / 2}, x);
  return average_pool(builder, "pool", {.kernel = 2, .stride = 2}, x);
}

TensorId features(GraphBuilder& builder, TensorId x) {
  const GraphBuilder::Scope scope(builder, "features");
  x = conv_norm_act(builder, {"conv0", "norm0", "relu0"},
                    Conv2d{.channels = 64, .kernel = 7, .stride = 2, .padding = 3}, UnaryKind::relu,
                    x);
  x = max_pool(builder, "pool0", {.kernel = 3, .stride = 2, .padding = 1}, x);
  for (std::size_t block = 0; block < layers_per_block.size(); ++block) {
    x = dense_block(builder, fmt::format("denseblock{}", block + 1), layers_per_block[block], x);
    const bool is_last = block + 1 == layers_per_block.size();
    if (!is_last) x = transition(builder, fmt::format("transition{}", block + 1), x);
  }
  return batch_norm(builder, "norm5", x);
}

Graph build_densenet(const NetworkArguments& arguments) {
  GraphBuilder builder("densenet121");
  TensorId x = features(builder, image_input(builder, arguments.number("image")));
  x = relu(builder, "relu", x);
  x = global_average(builder, "adaptive_avg_pool2d", x);
  builder.output(linear(builder, "classifier", arguments.number("classes"), x));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 2> densenet_parameters{image_parameter("224"),
                                                              classes_parameter};

constexpr std::array<Network, 1> densenet_family{{
    {"densenet121", "DenseNet-121",
     "torchvision densenet121, after Huang et al. 2016, Densely connected convolutional networks",
     densenet_parameters, build_densenet},
}};

}  // namespace

std::span<const Network> densenet_networks() { return densenet_family; }

}  // namespace strata::zoo
