// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::zoo {
namespace {

/// A fire module at its place in torchvision's `features`: 1×1 squeeze, then 1×1 and 3×3
/// expansion side by side.
struct Fire {
  int index;
  std::int64_t squeeze;
  std::int64_t expand;
};
constexpr std::array<Fire, 8> fires{{{3, 16, 64},
                                     {4, 16, 64},
                                     {6, 32, 128},
                                     {7, 32, 128},
                                     {9, 48, 192},
                                     {10, 48, 192},
                                     {11, 64, 256},
                                     {12, 64, 256}}};

TensorId fire_conv_relu(GraphBuilder& builder, const std::string& name, Conv2d convolution,
                        TensorId x) {
  convolution.bias = true;
  x = conv(builder, name, convolution, x);
  return relu(builder, name + "_activation", x);
}

TensorId fire(GraphBuilder& builder, const Fire& module, TensorId x) {
  const GraphBuilder::Scope scope(builder, fmt::to_string(module.index));
  x = fire_conv_relu(builder, "squeeze", {.channels = module.squeeze}, x);
  const TensorId one = fire_conv_relu(builder, "expand1x1", {.channels = module.expand}, x);
  const TensorId three = fire_conv_relu(builder, "expand3x3",
                                        {.channels = module.expand, .kernel = 3, .padding = 1}, x);
  return concat(builder, "cat", {one, three});
}

TensorId squeezenet_features(GraphBuilder& builder, TensorId x) {
  const GraphBuilder::Scope scope(builder, "features");
  const Window pool{.kernel = 3, .stride = 2, .ceil_mode = true};
  x = conv(builder, "0", Conv2d{.channels = 64, .kernel = 3, .stride = 2, .bias = true}, x);
  x = relu(builder, "1", x);
  x = max_pool(builder, "2", pool, x);
  int next = 3;
  for (const Fire& module : fires) {
    if (module.index != next) x = max_pool(builder, fmt::to_string(next), pool, x);
    x = fire(builder, module, x);
    next = module.index + 1;
  }
  return x;
}

Graph build_squeezenet(const NetworkArguments& arguments) {
  GraphBuilder builder("squeezenet1_1");
  TensorId x = squeezenet_features(builder, image_input(builder, arguments.number("image")));
  const GraphBuilder::Scope classifier(builder, "classifier");
  x = dropout(builder, "0", 0.5, x);
  x = conv(builder, "1", Conv2d{.channels = arguments.number("classes"), .bias = true}, x);
  x = relu(builder, "2", x);
  builder.output(global_average(builder, "3", x));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 2> squeezenet_parameters{image_parameter("224"),
                                                                classes_parameter};

constexpr std::array<Network, 1> squeezenet_family{{
    {"squeezenet1_1", "SqueezeNet 1.1",
     "torchvision squeezenet1_1, after Iandola et al. 2016, SqueezeNet, in the authors' version "
     "1.1",
     squeezenet_parameters, build_squeezenet},
}};

}  // namespace

std::span<const Network> squeezenet_networks() { return squeezenet_family; }

}  // namespace strata::zoo
