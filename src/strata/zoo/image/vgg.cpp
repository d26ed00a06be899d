// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::zoo {
namespace {

/// Convolutions in each of the five stages; a stage ends with pooling.
using Stages = std::array<int, 5>;

TensorId features(GraphBuilder& builder, const Stages& stages, TensorId x) {
  const GraphBuilder::Scope scope(builder, "features");
  constexpr std::array<std::int64_t, 5> widths{64, 128, 256, 512, 512};
  int index = 0;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (int i = 0; i < stages[stage]; ++i) {
      x = conv(builder, fmt::to_string(index++),
               Conv2d{.channels = widths[stage], .kernel = 3, .padding = 1, .bias = true}, x);
      x = relu(builder, fmt::to_string(index++), x);
    }
    x = max_pool(builder, fmt::to_string(index++), {.kernel = 2, .stride = 2}, x);
  }
  return x;
}

Graph build_vgg(const NetworkArguments& arguments, std::string_view name, const Stages& stages) {
  GraphBuilder builder{std::string(name)};
  TensorId x = features(builder, stages, image_input(builder, arguments.number("image")));
  x = builder.add("avgpool", AdaptivePool{.output = {7, 7}}, {x});
  x = flatten(builder, x);
  const GraphBuilder::Scope classifier(builder, "classifier");
  x = linear(builder, "0", 4096, x);
  x = relu(builder, "1", x);
  x = dropout(builder, "2", 0.5, x);
  x = linear(builder, "3", 4096, x);
  x = relu(builder, "4", x);
  x = dropout(builder, "5", 0.5, x);
  builder.output(linear(builder, "6", arguments.number("classes"), x));
  return std::move(builder).finish();
}

Graph build_vgg16(const NetworkArguments& arguments) {
  return build_vgg(arguments, "vgg16", {2, 2, 3, 3, 3});
}
Graph build_vgg19(const NetworkArguments& arguments) {
  return build_vgg(arguments, "vgg19", {2, 2, 4, 4, 4});
}

constexpr std::array<NetworkParameter, 2> vgg_parameters{image_parameter("224"), classes_parameter};

constexpr std::array<Network, 2> vgg_family{{
    {"vgg16", "VGG-16", "torchvision vgg16, after Simonyan, Zisserman 2014, configuration D",
     vgg_parameters, build_vgg16},
    {"vgg19", "VGG-19", "torchvision vgg19, after Simonyan, Zisserman 2014, configuration E",
     vgg_parameters, build_vgg19},
}};

}  // namespace

std::span<const Network> vgg_networks() { return vgg_family; }

}  // namespace strata::zoo
