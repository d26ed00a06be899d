// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <array>

namespace strata::zoo {
namespace {

constexpr std::array<std::string_view, 2> variants{"lecun", "caffe"};

/// The paper's layers as they are rebuilt today: C3 sees all maps of S2 (the paper connects a
/// chosen 60 of 96 pairs), pooling has no learnt coefficients, the output is a plain linear layer
/// (the paper: radial basis functions).
Graph build_lecun() {
  GraphBuilder builder("lenet5");
  TensorId x = image_input(builder, 32, 1);
  x = conv(builder, "c1", Conv2d{.channels = 6, .kernel = 5, .bias = true}, x);
  x = activation(builder, "tanh1", UnaryKind::tanh, x);
  x = average_pool(builder, "s2", {.kernel = 2, .stride = 2}, x);
  x = conv(builder, "c3", Conv2d{.channels = 16, .kernel = 5, .bias = true}, x);
  x = activation(builder, "tanh3", UnaryKind::tanh, x);
  x = average_pool(builder, "s4", {.kernel = 2, .stride = 2}, x);
  x = conv(builder, "c5", Conv2d{.channels = 120, .kernel = 5, .bias = true}, x);
  x = activation(builder, "tanh5", UnaryKind::tanh, x);
  x = flatten(builder, x);
  x = linear(builder, "f6", 84, x);
  x = activation(builder, "tanh6", UnaryKind::tanh, x);
  builder.output(linear(builder, "output", 10, x));
  return std::move(builder).finish();
}

Graph build_caffe() {
  GraphBuilder builder("lenet5");
  TensorId x = image_input(builder, 28, 1);
  x = conv(builder, "conv1", Conv2d{.channels = 20, .kernel = 5, .bias = true}, x);
  x = max_pool(builder, "pool1", {.kernel = 2, .stride = 2, .ceil_mode = true}, x);
  x = conv(builder, "conv2", Conv2d{.channels = 50, .kernel = 5, .bias = true}, x);
  x = max_pool(builder, "pool2", {.kernel = 2, .stride = 2, .ceil_mode = true}, x);
  x = flatten(builder, x);
  x = linear(builder, "ip1", 500, x);
  x = relu(builder, "relu1", x);
  builder.output(linear(builder, "ip2", 10, x));
  return std::move(builder).finish();
}

Graph build_lenet(const NetworkArguments& arguments) {
  return arguments.word("variant", variants) == 0 ? build_lecun() : build_caffe();
}

constexpr std::array<NetworkParameter, 1> lenet_parameters{{
    {"variant", "lecun", "lecun: 32×32, 6 and 16 filters; caffe: 28×28, 20 and 50 filters"},
}};

constexpr std::array<Network, 1> lenet_family{{
    {"lenet5", "LeNet-5",
     "LeCun et al. 1998, Gradient-based learning applied to document recognition, with full "
     "connections in C3, plain average pooling and a linear output; variant=caffe: Caffe's "
     "examples/mnist/lenet.prototxt",
     lenet_parameters, build_lenet},
}};

}  // namespace

std::span<const Network> lenet_networks() { return lenet_family; }

}  // namespace strata::zoo
