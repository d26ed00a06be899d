// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <array>
#include <optional>

namespace strata::zoo {
namespace {

/// Filters of an inception module: 1×1; 1×1 then 3×3; 1×1 then 3×3; pooling then 1×1.
struct Inception {
  std::string_view name;
  std::int64_t one;
  std::int64_t reduce_three;
  std::int64_t three;
  std::int64_t reduce_five;
  std::int64_t five;
  std::int64_t pool;
};

constexpr std::array<Inception, 9> modules{{
    {"inception3a", 64, 96, 128, 16, 32, 32},
    {"inception3b", 128, 128, 192, 32, 96, 64},
    {"inception4a", 192, 96, 208, 16, 48, 64},
    {"inception4b", 160, 112, 224, 24, 64, 64},
    {"inception4c", 128, 128, 256, 24, 64, 64},
    {"inception4d", 112, 144, 288, 32, 64, 64},
    {"inception4e", 256, 160, 320, 32, 128, 128},
    {"inception5a", 256, 160, 320, 32, 128, 128},
    {"inception5b", 384, 192, 384, 48, 128, 128},
}};

TensorId inception(GraphBuilder& builder, const Inception& module, TensorId x) {
  const GraphBuilder::Scope scope(builder, module.name);
  const TensorId one = basic_conv(builder, "branch1", Conv2d{.channels = module.one}, x);
  TensorId three = basic_conv(builder, "branch2.0", Conv2d{.channels = module.reduce_three}, x);
  three = basic_conv(builder, "branch2.1",
                     Conv2d{.channels = module.three, .kernel = 3, .padding = 1}, three);
  // The paper's 5×5 is 3×3 in torchvision, a slip that its published weights have made permanent.
  TensorId five = basic_conv(builder, "branch3.0", Conv2d{.channels = module.reduce_five}, x);
  five = basic_conv(builder, "branch3.1",
                    Conv2d{.channels = module.five, .kernel = 3, .padding = 1}, five);
  TensorId pool = max_pool(builder, "branch4.0",
                           {.kernel = 3, .stride = 1, .padding = 1, .ceil_mode = true}, x);
  pool = basic_conv(builder, "branch4.1", Conv2d{.channels = module.pool}, pool);
  return concat(builder, "cat", {one, three, five, pool});
}

void auxiliary_head(GraphBuilder& builder, std::string_view name, std::int64_t classes,
                    TensorId x) {
  const GraphBuilder::Scope scope(builder, name);
  x = builder.add("adaptive_avg_pool2d", AdaptivePool{.output = {4, 4}}, {x});
  x = basic_conv(builder, "conv", Conv2d{.channels = 128}, x);
  x = flatten(builder, x);
  x = linear(builder, "fc1", 1024, x);
  x = relu(builder, "relu", x);
  x = dropout(builder, "dropout", 0.7, x);
  builder.output(linear(builder, "fc2", classes, x));
}

TensorId stem(GraphBuilder& builder, TensorId x) {
  const Window pool{.kernel = 3, .stride = 2, .ceil_mode = true};
  x = basic_conv(builder, "conv1", Conv2d{.channels = 64, .kernel = 7, .stride = 2, .padding = 3},
                 x);
  x = max_pool(builder, "maxpool1", pool, x);
  x = basic_conv(builder, "conv2", Conv2d{.channels = 64}, x);
  x = basic_conv(builder, "conv3", Conv2d{.channels = 192, .kernel = 3, .padding = 1}, x);
  return max_pool(builder, "maxpool2", pool, x);
}

Graph build_googlenet(const NetworkArguments& arguments) {
  GraphBuilder builder("googlenet");
  const std::int64_t classes = arguments.number("classes");
  const bool has_auxiliary = has_auxiliary_heads(arguments);
  TensorId x = stem(builder, image_input(builder, arguments.number("image")));
  std::optional<TensorId> after_4a;
  std::optional<TensorId> after_4d;
  for (const Inception& module : modules) {
    x = inception(builder, module, x);
    if (module.name == "inception3b") {
      x = max_pool(builder, "maxpool3", {.kernel = 3, .stride = 2, .ceil_mode = true}, x);
    }
    if (module.name == "inception4a") after_4a = x;
    if (module.name == "inception4d") after_4d = x;
    if (module.name == "inception4e") {
      x = max_pool(builder, "maxpool4", {.kernel = 2, .stride = 2, .ceil_mode = true}, x);
    }
  }
  x = global_average(builder, "avgpool", x);
  x = dropout(builder, "dropout", 0.2, x);
  builder.output(linear(builder, "fc", classes, x));
  if (has_auxiliary) {
    auxiliary_head(builder, "aux1", classes, after_4a.value());
    auxiliary_head(builder, "aux2", classes, after_4d.value());
  }
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 3> googlenet_parameters{
    image_parameter("224"), classes_parameter, auxiliary_parameter};

constexpr std::array<Network, 1> googlenet_family{{
    {"googlenet", "GoogLeNet",
     "torchvision googlenet, after Szegedy et al. 2014: batch normalisation, 3×3 for 5×5",
     googlenet_parameters, build_googlenet},
}};

}  // namespace

std::span<const Network> googlenet_networks() { return googlenet_family; }

}  // namespace strata::zoo
