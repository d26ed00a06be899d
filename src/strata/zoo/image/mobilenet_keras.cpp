// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>

// keras.applications.MobileNet and MobileNetV2 as Keras 3 writes them: a strided depthwise
// convolution is preceded by a zero-padding layer, padding falls on the far side of even maps,
// softmax at the end. Names are Keras's.
namespace strata::zoo {
namespace {

constexpr UnaryKind up_to_six = UnaryKind::relu6;

/// Zeros before the first row; after the last there is always one. TensorFlow's "same" padding and
/// Keras's correct_pad agree on it for a 3×3 window of stride 2.
std::int64_t near_padding(const GraphBuilder& builder, TensorId x) {
  return builder.extent(x, 2) % 2 == 0 ? 0 : 1;
}

Convolution strided_conv(std::int64_t channels, std::int64_t groups, std::int64_t near,
                         std::int64_t far) {
  return {.channels = channels,
          .kernel = {3, 3},
          .stride = {2, 2},
          .pad_begin = {near, near},
          .pad_end = {far, far},
          .groups = groups,
          .bias = false};
}

/// The first convolution: 32 filters of 3×3 with stride 2.
TensorId first_conv(GraphBuilder& builder, const ConvNames& names, TensorId x) {
  return conv_norm_act(builder, names, strided_conv(32, 1, near_padding(builder, x), 1), up_to_six,
                       x);
}

struct DepthwiseNames {
  std::string pad;
  ConvNames conv;
};

TensorId depthwise(GraphBuilder& builder, const DepthwiseNames& names, PaddingStyle style,
                   std::int64_t stride, std::int64_t near, TensorId x) {
  const std::int64_t channels = builder.extent(x, 1);
  if (stride == 1) {
    const Conv2d same{.channels = channels, .kernel = 3, .padding = 1, .groups = channels};
    return conv_norm_act(builder, names.conv, same, up_to_six, x);
  }
  if (style == PaddingStyle::fused) {
    return conv_norm_act(builder, names.conv, strided_conv(channels, channels, near, 1), up_to_six,
                         x);
  }
  x = builder.add(names.pad, Pad{.begin = {0, 0, near, near}, .end = {0, 0, 1, 1}}, {x});
  return conv_norm_act(builder, names.conv, strided_conv(channels, channels, 0, 0), up_to_six, x);
}

// ---- version 1-----------------------------------------------------------------------------------
// -------------------------------------------------------------------------------------------------

struct Separable {
  std::int64_t channels;
  std::int64_t stride;
};
constexpr std::array<Separable, 13> separables{{{64, 1},
                                                {128, 2},
                                                {128, 1},
                                                {256, 2},
                                                {256, 1},
                                                {512, 2},
                                                {512, 1},
                                                {512, 1},
                                                {512, 1},
                                                {512, 1},
                                                {512, 1},
                                                {1024, 2},
                                                {1024, 1}}};

TensorId separable(GraphBuilder& builder, std::size_t number, PaddingStyle style,
                   const Separable& layer, TensorId x) {
  const Block block(builder, fmt::format("conv_{}", number));
  const std::string dw = fmt::format("conv_dw_{}", number);
  const std::string pw = fmt::format("conv_pw_{}", number);
  const std::string dw_bn = dw + "_bn", dw_relu = dw + "_relu";
  x = depthwise(builder, {fmt::format("conv_pad_{}", number), {dw, dw_bn, dw_relu}}, style,
                layer.stride, 0, x);
  return conv_norm_act(builder, {pw, pw + "_bn", pw + "_relu"}, Conv2d{.channels = layer.channels},
                       up_to_six, x);
}

Graph build_v1(const NetworkArguments& arguments) {
  GraphBuilder builder("mobilenet_v1");
  const PaddingStyle style = padding_style(arguments);
  const std::int64_t classes = arguments.number("classes");
  TensorId x = image_input(builder, arguments.number("image"));
  x = first_conv(builder, {"conv1", "conv1_bn", "conv1_relu"}, x);
  for (std::size_t i = 0; i < separables.size(); ++i) {
    x = separable(builder, i + 1, style, separables[i], x);
  }
  x = builder.add("global_average_pooling2d", AdaptivePool{}, {x});
  x = dropout(builder, "dropout", 0.001, x);
  x = conv(builder, "conv_preds", Conv2d{.channels = classes, .bias = true}, x);
  x = builder.add("reshape_2", Flatten{}, {x});
  builder.output(builder.add("predictions", Softmax{}, {x}));
  return std::move(builder).finish();
}

// ---- version 2-----------------------------------------------------------------------------------
// -------------------------------------------------------------------------------------------------

struct Bottleneck {
  std::int64_t channels;
  std::int64_t stride;
};
constexpr std::array<Bottleneck, 17> bottlenecks{{{16, 1},
                                                  {24, 2},
                                                  {24, 1},
                                                  {32, 2},
                                                  {32, 1},
                                                  {32, 1},
                                                  {64, 2},
                                                  {64, 1},
                                                  {64, 1},
                                                  {64, 1},
                                                  {96, 1},
                                                  {96, 1},
                                                  {96, 1},
                                                  {160, 2},
                                                  {160, 1},
                                                  {160, 1},
                                                  {320, 1}}};

TensorId bottleneck(GraphBuilder& builder, std::size_t number, PaddingStyle style,
                    const Bottleneck& layer, TensorId x) {
  const std::string name = number == 0 ? "expanded_conv" : fmt::format("block_{}", number);
  const Block block(builder, name);
  const TensorId input = x;
  if (number > 0) {
    const std::string expand = name + "_expand";
    x = conv_norm_act(builder, {expand, expand + "_BN", expand + "_relu"},
                      Conv2d{.channels = 6 * builder.extent(x, 1)}, up_to_six, x);
  }
  const std::string dw = name + "_depthwise", dw_bn = dw + "_BN", dw_relu = dw + "_relu";
  x = depthwise(builder, {name + "_pad", {dw, dw_bn, dw_relu}}, style, layer.stride,
                near_padding(builder, x), x);
  x = conv(builder, name + "_project", Conv2d{.channels = layer.channels}, x);
  x = batch_norm(builder, name + "_project_BN", x);
  const bool is_residual = layer.stride == 1 && builder.extent(input, 1) == layer.channels;
  return is_residual ? add(builder, name + "_add", input, x) : x;
}

Graph build_v2(const NetworkArguments& arguments) {
  GraphBuilder builder("mobilenet_v2_keras");
  const PaddingStyle style = padding_style(arguments);
  TensorId x = image_input(builder, arguments.number("image"));
  x = first_conv(builder, {"Conv1", "bn_Conv1", "Conv1_relu"}, x);
  for (std::size_t i = 0; i < bottlenecks.size(); ++i) {
    x = bottleneck(builder, i, style, bottlenecks[i], x);
  }
  x = conv_norm_act(builder, {"Conv_1", "Conv_1_bn", "out_relu"}, Conv2d{.channels = 1280},
                    up_to_six, x);
  x = global_average(builder, "global_average_pooling2d", x);
  x = linear(builder, "predictions", arguments.number("classes"), x);
  builder.output(builder.add("predictions_softmax", Softmax{}, {x}));
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 3> mobilenet_keras_parameters{
    image_parameter("224"), classes_parameter, padding_parameter};

constexpr std::array<Network, 2> mobilenet_keras_family{{
    {"mobilenet_v1", "MobileNet v1",
     "keras.applications.MobileNet (width 1.0), after Howard et al. 2017: zero-padding layers, "
     "softmax at the end",
     mobilenet_keras_parameters, build_v1},
    {"mobilenet_v2_keras", "MobileNet v2 (Keras)",
     "keras.applications.MobileNetV2 (width 1.0), after Sandler et al. 2018: zero-padding layers, "
     "softmax at the end",
     mobilenet_keras_parameters, build_v2},
}};

}  // namespace

std::span<const Network> mobilenet_keras_networks() { return mobilenet_keras_family; }

}  // namespace strata::zoo
