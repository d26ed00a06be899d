// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <array>

namespace strata::zoo {
namespace {

TensorId conv_relu(GraphBuilder& builder, std::string_view number, Conv2d convolution, TensorId x) {
  convolution.bias = true;
  x = conv(builder, std::string("conv").append(number), convolution, x);
  return relu(builder, std::string("relu").append(number), x);
}

Graph build_overfeat(const NetworkArguments& arguments) {
  GraphBuilder builder("overfeat");
  const Window pool{.kernel = 2, .stride = 2, .ceil_mode = true};
  TensorId x = image_input(builder, 231);
  x = conv_relu(builder, "1", {.channels = 96, .kernel = 11, .stride = 4}, x);
  x = max_pool(builder, "pool1", pool, x);
  x = conv_relu(builder, "2", {.channels = 256, .kernel = 5}, x);
  x = max_pool(builder, "pool2", pool, x);
  x = conv_relu(builder, "3", {.channels = 512, .kernel = 3, .padding = 1}, x);
  x = conv_relu(builder, "4", {.channels = 1024, .kernel = 3, .padding = 1}, x);
  x = conv_relu(builder, "5", {.channels = 1024, .kernel = 3, .padding = 1}, x);
  x = max_pool(builder, "pool5", pool, x);
  x = flatten(builder, x);
  x = linear(builder, "fc6", 3072, x);
  x = relu(builder, "relu6", x);
  x = dropout(builder, "drop6", 0.5, x);
  x = linear(builder, "fc7", 4096, x);
  x = relu(builder, "relu7", x);
  x = dropout(builder, "drop7", 0.5, x);
  builder.output(linear(builder, "fc8", arguments.number("classes"), x));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 1> overfeat_parameters{classes_parameter};

constexpr std::array<Network, 1> overfeat_family{{
    {"overfeat", "OverFeat (fast)",
     "Sermanet et al. 2013, OverFeat, table 1, sizes as in soumith/convnet-benchmarks; ReLU and "
     "dropout after the first two fully connected layers are the paper's",
     overfeat_parameters, build_overfeat},
}};

}  // namespace

std::span<const Network> overfeat_networks() { return overfeat_family; }

}  // namespace strata::zoo
