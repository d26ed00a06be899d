// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::zoo {
namespace {

/// One row of the paper's table 2: expansion factor, output channels, repetitions, stride of the
/// first.
struct BottleneckStage {
  std::int64_t expansion;
  std::int64_t channels;
  int repeats;
  std::int64_t stride;
};
constexpr std::array<BottleneckStage, 7> bottleneck_stages{{{1, 16, 1, 1},
                                                            {6, 24, 2, 2},
                                                            {6, 32, 3, 2},
                                                            {6, 64, 4, 2},
                                                            {6, 96, 3, 1},
                                                            {6, 160, 3, 2},
                                                            {6, 320, 1, 1}}};

/// Expand by a 1×1, filter every channel by itself, project by a 1×1 without activation. Modules
/// are numbered as they come: conv.0 is the depthwise one when nothing is expanded.
TensorId inverted_residual(GraphBuilder& builder, const BottleneckStage& stage, std::int64_t stride,
                           TensorId x) {
  constexpr UnaryKind relu6 = UnaryKind::relu6;
  const std::int64_t inputs = builder.extent(x, 1);
  const std::int64_t inner = inputs * stage.expansion;
  const TensorId shortcut = x;
  int module = 0;
  if (stage.expansion != 1) {
    x = conv_sequence(builder, fmt::format("conv.{}", module++), Conv2d{.channels = inner}, relu6,
                      x);
  }
  const Conv2d depthwise{
      .channels = inner, .kernel = 3, .stride = stride, .padding = 1, .groups = inner};
  x = conv_sequence(builder, fmt::format("conv.{}", module++), depthwise, relu6, x);
  x = conv(builder, fmt::format("conv.{}", module++), Conv2d{.channels = stage.channels}, x);
  x = batch_norm(builder, fmt::format("conv.{}", module), x);
  return stride == 1 && inputs == stage.channels ? add(builder, "add", shortcut, x) : x;
}

Graph build_mobilenet_v2(const NetworkArguments& arguments) {
  GraphBuilder builder("mobilenet_v2");
  TensorId x = image_input(builder, arguments.number("image"));
  x = conv_sequence(builder, "features.0",
                    Conv2d{.channels = 32, .kernel = 3, .stride = 2, .padding = 1},
                    UnaryKind::relu6, x);
  int index = 1;
  for (const BottleneckStage& stage : bottleneck_stages) {
    for (int i = 0; i < stage.repeats; ++i) {
      const GraphBuilder::Scope scope(builder, fmt::format("features.{}", index++));
      x = inverted_residual(builder, stage, i == 0 ? stage.stride : 1, x);
    }
  }
  x = conv_sequence(builder, fmt::format("features.{}", index), Conv2d{.channels = 1280},
                    UnaryKind::relu6, x);
  x = global_average(builder, "adaptive_avg_pool2d", x);
  x = dropout(builder, "classifier.0", 0.2, x);
  builder.output(linear(builder, "classifier.1", arguments.number("classes"), x));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 2> mobilenet_v2_parameters{image_parameter("224"),
                                                                  classes_parameter};

constexpr std::array<Network, 1> mobilenet_v2_family{{
    {"mobilenet_v2", "MobileNet v2",
     "torchvision mobilenet_v2 (width 1.0), after Sandler et al. 2018", mobilenet_v2_parameters,
     build_mobilenet_v2},
}};

}  // namespace

std::span<const Network> mobilenet_v2_networks() { return mobilenet_v2_family; }

}  // namespace strata::zoo
