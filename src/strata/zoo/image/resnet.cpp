// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::zoo {
namespace {

enum class BlockKind : std::uint8_t { basic, bottleneck };

struct ResNet {
  std::string_view name;
  BlockKind kind;
  std::array<int, 4> blocks;  ///< residual blocks in layer1 … layer4
};

/// Convolutions of a residual block have the same names in every block of torchvision's ResNet.
TensorId conv_bn(GraphBuilder& builder, int number, const Conv2d& convolution, TensorId x) {
  x = conv(builder, fmt::format("conv{}", number), convolution, x);
  return batch_norm(builder, fmt::format("bn{}", number), x);
}

/// Two 3×3 convolutions (basic), or 1×1, 3×3, 1×1 with the stride on the 3×3 (bottleneck: "v1.5",
/// where the paper has the stride on the first 1×1).
TensorId residual_branch(GraphBuilder& builder, BlockKind kind, std::int64_t width,
                         std::int64_t stride, TensorId x) {
  if (kind == BlockKind::basic) {
    x = conv_bn(builder, 1, {.channels = width, .kernel = 3, .stride = stride, .padding = 1}, x);
    x = relu(builder, "relu", x);
    return conv_bn(builder, 2, {.channels = width, .kernel = 3, .padding = 1}, x);
  }
  x = conv_bn(builder, 1, {.channels = width}, x);
  x = relu(builder, "relu", x);
  x = conv_bn(builder, 2, {.channels = width, .kernel = 3, .stride = stride, .padding = 1}, x);
  x = relu(builder, "relu", x);
  return conv_bn(builder, 3, {.channels = 4 * width}, x);
}

TensorId residual_block(GraphBuilder& builder, BlockKind kind, std::int64_t width,
                        std::int64_t stride, TensorId x) {
  const TensorId branch = residual_branch(builder, kind, width, stride, x);
  const std::int64_t channels = builder.extent(branch, 1);
  TensorId shortcut = x;
  if (stride != 1 || builder.extent(x, 1) != channels) {
    shortcut = conv(builder, "downsample.0", Conv2d{.channels = channels, .stride = stride}, x);
    shortcut = batch_norm(builder, "downsample.1", shortcut);
  }
  return relu(builder, "relu", add(builder, "add", branch, shortcut));
}

Graph build_resnet(const NetworkArguments& arguments, const ResNet& network) {
  GraphBuilder builder{std::string(network.name)};
  TensorId x = image_input(builder, arguments.number("image"));
  x = conv_bn(builder, 1, {.channels = 64, .kernel = 7, .stride = 2, .padding = 3}, x);
  x = relu(builder, "relu", x);
  x = max_pool(builder, "maxpool", {.kernel = 3, .stride = 2, .padding = 1}, x);
  for (std::size_t layer = 0; layer < network.blocks.size(); ++layer) {
    for (int block = 0; block < network.blocks[layer]; ++block) {
      const GraphBuilder::Scope scope(builder, fmt::format("layer{}.{}", layer + 1, block));
      const std::int64_t stride = layer > 0 && block == 0 ? 2 : 1;
      x = residual_block(builder, network.kind, std::int64_t{64} << layer, stride, x);
    }
  }
  x = global_average(builder, "avgpool", x);
  builder.output(linear(builder, "fc", arguments.number("classes"), x));
  return std::move(builder).finish();
}

constexpr ResNet resnet18{"resnet18", BlockKind::basic, {2, 2, 2, 2}};
constexpr ResNet resnet34{"resnet34", BlockKind::basic, {3, 4, 6, 3}};
constexpr ResNet resnet50{"resnet50", BlockKind::bottleneck, {3, 4, 6, 3}};
constexpr ResNet resnet101{"resnet101", BlockKind::bottleneck, {3, 4, 23, 3}};
constexpr ResNet resnet152{"resnet152", BlockKind::bottleneck, {3, 8, 36, 3}};

template <const ResNet& network>
Graph build_as(const NetworkArguments& arguments) {
  return build_resnet(arguments, network);
}

constexpr std::array<NetworkParameter, 2> resnet_parameters{image_parameter("224"),
                                                            classes_parameter};
constexpr std::string_view basic_source =
    "torchvision, after He et al. 2015, Deep residual learning";
constexpr std::string_view bottleneck_source =
    "torchvision, after He et al. 2015, Deep residual learning, with the stride on the 3×3 (v1.5)";

constexpr std::array<Network, 5> resnet_family{{
    {"resnet18", "ResNet-18", basic_source, resnet_parameters, build_as<resnet18>},
    {"resnet34", "ResNet-34", basic_source, resnet_parameters, build_as<resnet34>},
    {"resnet50", "ResNet-50", bottleneck_source, resnet_parameters, build_as<resnet50>},
    {"resnet101", "ResNet-101", bottleneck_source, resnet_parameters, build_as<resnet101>},
    {"resnet152", "ResNet-152", bottleneck_source, resnet_parameters, build_as<resnet152>},
}};

}  // namespace

std::span<const Network> resnet_networks() { return resnet_family; }

}  // namespace strata::zoo
