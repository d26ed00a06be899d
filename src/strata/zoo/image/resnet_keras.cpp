// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>

// keras.applications.ResNet50: convolutions have a bias although normalisation follows, the stride
// is on the first 1×1, zero padding is a layer. Names are Keras's.
namespace strata::zoo {
namespace {

/// "conv2_block1_1_conv", "…_bn" and, if wanted, "…_relu".
TensorId conv_bn(GraphBuilder& builder, const std::string& name, Conv2d convolution, TensorId x) {
  convolution.bias = true;
  x = conv(builder, name + "_conv", convolution, x);
  return batch_norm(builder, name + "_bn", x);
}

TensorId conv_bn_relu(GraphBuilder& builder, const std::string& name, const Conv2d& convolution,
                      TensorId x) {
  return relu(builder, name + "_relu", conv_bn(builder, name, convolution, x));
}

TensorId residual_block(GraphBuilder& builder, const std::string& name, std::int64_t width,
                        std::int64_t stride, bool has_conv_shortcut, TensorId x) {
  const Block block(builder, name);
  TensorId shortcut = x;
  if (has_conv_shortcut) {
    shortcut = conv_bn(builder, name + "_0", {.channels = 4 * width, .stride = stride}, x);
  }
  x = conv_bn_relu(builder, name + "_1", {.channels = width, .stride = stride}, x);
  x = conv_bn_relu(builder, name + "_2", {.channels = width, .kernel = 3, .padding = 1}, x);
  x = conv_bn(builder, name + "_3", {.channels = 4 * width}, x);
  x = add(builder, name + "_add", shortcut, x);
  return relu(builder, name + "_out", x);
}

TensorId stem(GraphBuilder& builder, PaddingStyle style, TensorId x) {
  const bool is_explicit = style == PaddingStyle::explicit_layers;
  if (is_explicit) {
    x = builder.add("conv1_pad", Pad{.begin = {0, 0, 3, 3}, .end = {0, 0, 3, 3}}, {x});
  }
  x = conv_bn_relu(
      builder, "conv1",
      {.channels = 64, .kernel = 7, .stride = 2, .padding = is_explicit ? 0 : std::int64_t{3}}, x);
  if (is_explicit) {
    x = builder.add("pool1_pad", Pad{.begin = {0, 0, 1, 1}, .end = {0, 0, 1, 1}}, {x});
  }
  return max_pool(builder, "pool1_pool",
                  {.kernel = 3, .stride = 2, .padding = is_explicit ? 0 : std::int64_t{1}}, x);
}

Graph build_resnet_keras(const NetworkArguments& arguments) {
  GraphBuilder builder("resnet50_keras");
  TensorId x = image_input(builder, arguments.number("image"));
  x = stem(builder, padding_style(arguments), x);
  constexpr std::array<int, 4> blocks{3, 4, 6, 3};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int block = 1; block <= blocks[stage]; ++block) {
      const bool is_first = block == 1;
      const std::int64_t stride = is_first && stage > 0 ? 2 : 1;
      x = residual_block(builder, fmt::format("conv{}_block{}", stage + 2, block),
                         std::int64_t{64} << stage, stride, is_first, x);
    }
  }
  x = global_average(builder, "avg_pool", x);
  x = linear(builder, "predictions", arguments.number("classes"), x);
  builder.output(builder.add("predictions_softmax", Softmax{}, {x}));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 3> resnet_keras_parameters{
    image_parameter("224"), classes_parameter, padding_parameter};

constexpr std::array<Network, 1> resnet_keras_family{{
    {"resnet50_keras", "ResNet-50 (Keras)",
     "keras.applications.ResNet50, after He et al. 2015: biased convolutions, stride on the first "
     "1×1, zero-padding layers, softmax at the end",
     resnet_keras_parameters, build_resnet_keras},
}};

}  // namespace

std::span<const Network> resnet_keras_networks() { return resnet_keras_family; }

}  // namespace strata::zoo
