// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::zoo {
namespace {

constexpr UnaryKind silu = UnaryKind::silu;

/// One row of the paper's table 1: expansion, window, stride of the first, output channels,
/// repetitions.
struct Stage {
  std::int64_t expansion;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t channels;
  int repeats;
};
constexpr std::array<Stage, 7> efficient_stages{{{1, 3, 1, 16, 1},
                                                 {6, 3, 2, 24, 2},
                                                 {6, 5, 2, 40, 2},
                                                 {6, 3, 2, 80, 3},
                                                 {6, 5, 1, 112, 3},
                                                 {6, 5, 2, 192, 4},
                                                 {6, 3, 1, 320, 1}}};

/// Weighs every channel by a factor learnt from the means of all channels. The two small layers are
/// 1×1 convolutions in torchvision.
TensorId squeeze_excitation(GraphBuilder& builder, std::string_view name, std::int64_t squeezed,
                            TensorId x) {
  const std::int64_t channels = builder.extent(x, 1);
  const auto part = [&](std::string_view what) { return fmt::format("{}.{}", name, what); };
  TensorId scale = builder.add(part("avgpool"), AdaptivePool{}, {x});
  scale = conv(builder, part("fc1"), Conv2d{.channels = squeezed, .bias = true}, scale);
  scale = activation(builder, part("activation"), silu, scale);
  scale = conv(builder, part("fc2"), Conv2d{.channels = channels, .bias = true}, scale);
  scale = activation(builder, part("scale_activation"), UnaryKind::sigmoid, scale);
  return builder.add(part("mul"), Elementwise{ElementwiseKind::multiply}, {scale, x});
}

/// Mobile inverted bottleneck. Modules are numbered as they come: block.0 is the depthwise one when
/// nothing is expanded.
TensorId inverted_bottleneck(GraphBuilder& builder, const Stage& stage, std::int64_t stride,
                             TensorId x) {
  const std::int64_t inputs = builder.extent(x, 1);
  const std::int64_t inner = inputs * stage.expansion;
  const TensorId shortcut = x;
  int module = 0;
  const auto next_name = [&] { return fmt::format("block.{}", module++); };
  if (stage.expansion != 1) {
    x = conv_sequence(builder, next_name(), Conv2d{.channels = inner}, silu, x);
  }
  const Conv2d depthwise{.channels = inner,
                         .kernel = stage.kernel,
                         .stride = stride,
                         .padding = stage.kernel / 2,
                         .groups = inner};
  x = conv_sequence(builder, next_name(), depthwise, silu, x);
  x = squeeze_excitation(builder, next_name(), std::max<std::int64_t>(1, inputs / 4), x);
  const std::string project = next_name();
  x = conv(builder, project + ".0", Conv2d{.channels = stage.channels}, x);
  x = batch_norm(builder, project + ".1", x);
  return stride == 1 && inputs == stage.channels ? add(builder, "add", x, shortcut) : x;
}

Graph build_efficientnet(const NetworkArguments& arguments) {
  GraphBuilder builder("efficientnet_b0");
  TensorId x = image_input(builder, arguments.number("image"));
  x = conv_sequence(builder, "features.0",
                    Conv2d{.channels = 32, .kernel = 3, .stride = 2, .padding = 1}, silu, x);
  for (std::size_t stage = 0; stage < efficient_stages.size(); ++stage) {
    for (int i = 0; i < efficient_stages[stage].repeats; ++i) {
      const GraphBuilder::Scope scope(builder, fmt::format("features.{}.{}", stage + 1, i));
      x = inverted_bottleneck(builder, efficient_stages[stage],
                              i == 0 ? efficient_stages[stage].stride : 1, x);
    }
  }
  x = conv_sequence(builder, "features.8", Conv2d{.channels = 1280}, silu, x);
  x = global_average(builder, "avgpool", x);
  x = dropout(builder, "classifier.0", 0.2, x);
  builder.output(linear(builder, "classifier.1", arguments.number("classes"), x));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 2> efficientnet_parameters{image_parameter("224"),
                                                                  classes_parameter};

constexpr std::array<Network, 1> efficientnet_family{{
    {"efficientnet_b0", "EfficientNet-B0",
     "torchvision efficientnet_b0, after Tan, Le 2019; stochastic depth (one random factor per "
     "image and residual block in training) is left out",
     efficientnet_parameters, build_efficientnet},
}};

}  // namespace

std::span<const Network> efficientnet_networks() { return efficientnet_family; }

}  // namespace strata::zoo
