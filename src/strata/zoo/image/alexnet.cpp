// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <array>

namespace strata::zoo {
namespace {

Graph build_torchvision(const NetworkArguments& arguments) {
  GraphBuilder builder("alexnet");
  TensorId x = image_input(builder, arguments.number("image"));
  {
    const GraphBuilder::Scope features(builder, "features");
    const Window pool{.kernel = 3, .stride = 2};
    x = conv(builder, "0",
             Conv2d{.channels = 64, .kernel = 11, .stride = 4, .padding = 2, .bias = true}, x);
    x = relu(builder, "1", x);
    x = max_pool(builder, "2", pool, x);
    x = conv(builder, "3", Conv2d{.channels = 192, .kernel = 5, .padding = 2, .bias = true}, x);
    x = relu(builder, "4", x);
    x = max_pool(builder, "5", pool, x);
    x = conv(builder, "6", Conv2d{.channels = 384, .kernel = 3, .padding = 1, .bias = true}, x);
    x = relu(builder, "7", x);
    x = conv(builder, "8", Conv2d{.channels = 256, .kernel = 3, .padding = 1, .bias = true}, x);
    x = relu(builder, "9", x);
    x = conv(builder, "10", Conv2d{.channels = 256, .kernel = 3, .padding = 1, .bias = true}, x);
    x = relu(builder, "11", x);
    x = max_pool(builder, "12", pool, x);
  }
  x = builder.add("avgpool", AdaptivePool{.output = {6, 6}}, {x});
  x = flatten(builder, x);
  const GraphBuilder::Scope classifier(builder, "classifier");
  x = dropout(builder, "0", 0.5, x);
  x = linear(builder, "1", 4096, x);
  x = relu(builder, "2", x);
  x = dropout(builder, "3", 0.5, x);
  x = linear(builder, "4", 4096, x);
  x = relu(builder, "5", x);
  builder.output(linear(builder, "6", arguments.number("classes"), x));
  return std::move(builder).finish();
}

/// Convolution and ReLU; with groups of two it stands for the paper's two GPUs.
TensorId caffe_conv(GraphBuilder& builder, std::string_view number, Conv2d convolution,
                    TensorId x) {
  convolution.bias = true;
  x = conv(builder, std::string("conv").append(number), convolution, x);
  return relu(builder, std::string("relu").append(number), x);
}

Graph build_caffe(const NetworkArguments& arguments) {
  GraphBuilder builder("alexnet_caffe");
  const Window pool{.kernel = 3, .stride = 2, .ceil_mode = true};
  const LocalResponseNorm across_five{.size = 5};
  TensorId x = image_input(builder, 227);
  x = caffe_conv(builder, "1", {.channels = 96, .kernel = 11, .stride = 4}, x);
  x = builder.add("norm1", across_five, {x});
  x = max_pool(builder, "pool1", pool, x);
  x = caffe_conv(builder, "2", {.channels = 256, .kernel = 5, .padding = 2, .groups = 2}, x);
  x = builder.add("norm2", across_five, {x});
  x = max_pool(builder, "pool2", pool, x);
  x = caffe_conv(builder, "3", {.channels = 384, .kernel = 3, .padding = 1}, x);
  x = caffe_conv(builder, "4", {.channels = 384, .kernel = 3, .padding = 1, .groups = 2}, x);
  x = caffe_conv(builder, "5", {.channels = 256, .kernel = 3, .padding = 1, .groups = 2}, x);
  x = max_pool(builder, "pool5", pool, x);
  x = flatten(builder, x);
  x = linear(builder, "fc6", 4096, x);
  x = relu(builder, "relu6", x);
  x = dropout(builder, "drop6", 0.5, x);
  x = linear(builder, "fc7", 4096, x);
  x = relu(builder, "relu7", x);
  x = dropout(builder, "drop7", 0.5, x);
  builder.output(linear(builder, "fc8", arguments.number("classes"), x));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 2> torchvision_parameters{image_parameter("224"),
                                                                 classes_parameter};
constexpr std::array<NetworkParameter, 1> caffe_parameters{classes_parameter};

constexpr std::array<Network, 2> alexnet_family{{
    {"alexnet", "AlexNet",
     "torchvision alexnet, after Krizhevsky 2014, One weird trick for parallelizing convolutional "
     "neural networks: no groups, no local response normalisation",
     torchvision_parameters, build_torchvision},
    {"alexnet_caffe", "AlexNet (Caffe)",
     "Caffe's models/bvlc_alexnet, after Krizhevsky, Sutskever, Hinton 2012: groups, local "
     "response normalisation, 227×227 images",
     caffe_parameters, build_caffe},
}};

}  // namespace

std::span<const Network> alexnet_networks() { return alexnet_family; }

}  // namespace strata::zoo
