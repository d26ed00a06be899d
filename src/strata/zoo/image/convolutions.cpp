// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <array>

// Networks of one node: the convolutions that two studies of convolution on GPUs measured. No
// padding, no bias.
namespace strata::zoo {
namespace {

struct SingleConvolution {
  std::int64_t batch;
  std::int64_t image;
  std::int64_t channels;
  std::int64_t filters;
  std::int64_t kernel;
  std::int64_t stride;
};

Graph build_convolutions(std::string_view name, const SingleConvolution& layer) {
  GraphBuilder builder{std::string(name)};
  const TensorId x = image_input(builder, layer.image, layer.channels, layer.batch);
  builder.output(
      conv(builder, "conv",
           Conv2d{.channels = layer.filters, .kernel = layer.kernel, .stride = layer.stride}, x));
  return std::move(builder).finish();
}

Graph build_conv2d(const NetworkArguments& arguments) {
  return build_convolutions("conv2d", {.batch = 16,
                                       .image = arguments.number("image"),
                                       .channels = arguments.number("channels"),
                                       .filters = arguments.number("filters"),
                                       .kernel = arguments.number("kernel"),
                                       .stride = arguments.number("stride")});
}

// Channels are those of the public convnet-benchmarks; the paper's own list has none, and its
// second layer is not from there: 3 channels like the first.
constexpr SingleConvolution layer1{128, 128, 3, 96, 11, 1};
constexpr SingleConvolution layer2{128, 128, 3, 96, 3, 1};
constexpr SingleConvolution layer3{128, 32, 128, 128, 9, 1};
constexpr SingleConvolution layer4{128, 16, 128, 128, 7, 1};
constexpr SingleConvolution layer5{128, 13, 384, 384, 3, 1};

template <const SingleConvolution& layer>
Graph build_layer(const NetworkArguments&) {
  return build_convolutions("conv", layer);
}

constexpr std::array<NetworkParameter, 5> conv2d_parameters{{
    {"image", "112", "side of the square input image in pixels"},
    {"channels", "64", "input channels"},
    {"kernel", "3", "side of the square window"},
    {"filters", "64", "output channels"},
    {"stride", "2", "step of the window"},
}};

constexpr std::string_view layer_source =
    "Li et al. 2016, Performance analysis of GPU-based convolutional neural networks, table of "
    "benchmark layers; channels after soumith/convnet-benchmarks; batch 128";

constexpr std::array<Network, 6> convolutions_family{{
    {"conv2d", "Conv2D reference kernel",
     "Wang et al. 2020, Time-based roofline for deep learning performance analysis, Conv2D "
     "defaults; batch 16",
     conv2d_parameters, build_conv2d},
    {"conv_layer1", "Benchmark layer Conv1", layer_source, {}, build_layer<layer1>},
    {"conv_layer2", "Benchmark layer Conv2", layer_source, {}, build_layer<layer2>},
    {"conv_layer3", "Benchmark layer Conv3", layer_source, {}, build_layer<layer3>},
    {"conv_layer4", "Benchmark layer Conv4", layer_source, {}, build_layer<layer4>},
    {"conv_layer5", "Benchmark layer Conv5", layer_source, {}, build_layer<layer5>},
}};

}  // namespace

std::span<const Network> convolution_networks() { return convolutions_family; }

}  // namespace strata::zoo
