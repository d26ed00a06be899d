// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <array>

// The five kinds of module are called A to E in torchvision; figures are the paper's.
namespace strata::zoo {
namespace {

/// An odd window that keeps the size of the map.
Convolution same_size(std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  return {.channels = channels,
          .kernel = {rows, columns},
          .pad_begin = {rows / 2, columns / 2},
          .pad_end = {rows / 2, columns / 2},
          .bias = false};
}

constexpr Window average_window{.kernel = 3, .stride = 1, .padding = 1};
constexpr Window halving_window{.kernel = 3, .stride = 2};

TensorId pooled_branch(GraphBuilder& builder, std::int64_t channels, TensorId x) {
  x = average_pool(builder, "avg_pool2d", average_window, x);
  return basic_conv(builder, "branch_pool", Conv2d{.channels = channels}, x);
}

/// Figure 5: 1×1, 5×5, two 3×3 and pooling side by side.
TensorId module_a(GraphBuilder& builder, std::string_view name, std::int64_t pool_channels,
                  TensorId x) {
  const GraphBuilder::Scope scope(builder, name);
  const TensorId one = basic_conv(builder, "branch1x1", Conv2d{.channels = 64}, x);
  TensorId five = basic_conv(builder, "branch5x5_1", Conv2d{.channels = 48}, x);
  five = basic_conv(builder, "branch5x5_2", same_size(64, 5, 5), five);
  TensorId twice = basic_conv(builder, "branch3x3dbl_1", Conv2d{.channels = 64}, x);
  twice = basic_conv(builder, "branch3x3dbl_2", same_size(96, 3, 3), twice);
  twice = basic_conv(builder, "branch3x3dbl_3", same_size(96, 3, 3), twice);
  return concat(builder, "cat", {one, five, twice, pooled_branch(builder, pool_channels, x)});
}

/// Figure 10: halves the map.
TensorId module_b(GraphBuilder& builder, std::string_view name, TensorId x) {
  const GraphBuilder::Scope scope(builder, name);
  const TensorId three =
      basic_conv(builder, "branch3x3", Conv2d{.channels = 384, .kernel = 3, .stride = 2}, x);
  TensorId twice = basic_conv(builder, "branch3x3dbl_1", Conv2d{.channels = 64}, x);
  twice = basic_conv(builder, "branch3x3dbl_2", same_size(96, 3, 3), twice);
  twice = basic_conv(builder, "branch3x3dbl_3", Conv2d{.channels = 96, .kernel = 3, .stride = 2},
                     twice);
  const TensorId pool = max_pool(builder, "max_pool2d", halving_window, x);
  return concat(builder, "cat", {three, twice, pool});
}

/// Figure 6: 7×7 factored into 1×7 and 7×1.
TensorId module_c(GraphBuilder& builder, std::string_view name, std::int64_t inner, TensorId x) {
  const GraphBuilder::Scope scope(builder, name);
  const TensorId one = basic_conv(builder, "branch1x1", Conv2d{.channels = 192}, x);
  TensorId seven = basic_conv(builder, "branch7x7_1", Conv2d{.channels = inner}, x);
  seven = basic_conv(builder, "branch7x7_2", same_size(inner, 1, 7), seven);
  seven = basic_conv(builder, "branch7x7_3", same_size(192, 7, 1), seven);
  TensorId twice = basic_conv(builder, "branch7x7dbl_1", Conv2d{.channels = inner}, x);
  twice = basic_conv(builder, "branch7x7dbl_2", same_size(inner, 7, 1), twice);
  twice = basic_conv(builder, "branch7x7dbl_3", same_size(inner, 1, 7), twice);
  twice = basic_conv(builder, "branch7x7dbl_4", same_size(inner, 7, 1), twice);
  twice = basic_conv(builder, "branch7x7dbl_5", same_size(192, 1, 7), twice);
  return concat(builder, "cat", {one, seven, twice, pooled_branch(builder, 192, x)});
}

/// Halves the map again.
TensorId module_d(GraphBuilder& builder, std::string_view name, TensorId x) {
  const GraphBuilder::Scope scope(builder, name);
  TensorId three = basic_conv(builder, "branch3x3_1", Conv2d{.channels = 192}, x);
  three =
      basic_conv(builder, "branch3x3_2", Conv2d{.channels = 320, .kernel = 3, .stride = 2}, three);
  TensorId seven = basic_conv(builder, "branch7x7x3_1", Conv2d{.channels = 192}, x);
  seven = basic_conv(builder, "branch7x7x3_2", same_size(192, 1, 7), seven);
  seven = basic_conv(builder, "branch7x7x3_3", same_size(192, 7, 1), seven);
  seven = basic_conv(builder, "branch7x7x3_4", Conv2d{.channels = 192, .kernel = 3, .stride = 2},
                     seven);
  const TensorId pool = max_pool(builder, "max_pool2d", halving_window, x);
  return concat(builder, "cat", {three, seven, pool});
}

/// Figure 7: 3×3 spread out into 1×3 beside 3×1.
TensorId module_e(GraphBuilder& builder, std::string_view name, TensorId x) {
  const GraphBuilder::Scope scope(builder, name);
  const TensorId one = basic_conv(builder, "branch1x1", Conv2d{.channels = 320}, x);
  TensorId three = basic_conv(builder, "branch3x3_1", Conv2d{.channels = 384}, x);
  const TensorId wide = basic_conv(builder, "branch3x3_2a", same_size(384, 1, 3), three);
  const TensorId tall = basic_conv(builder, "branch3x3_2b", same_size(384, 3, 1), three);
  three = concat(builder, "cat_branch3x3", {wide, tall});
  TensorId twice = basic_conv(builder, "branch3x3dbl_1", Conv2d{.channels = 448}, x);
  twice = basic_conv(builder, "branch3x3dbl_2", same_size(384, 3, 3), twice);
  const TensorId twice_wide = basic_conv(builder, "branch3x3dbl_3a", same_size(384, 1, 3), twice);
  const TensorId twice_tall = basic_conv(builder, "branch3x3dbl_3b", same_size(384, 3, 1), twice);
  twice = concat(builder, "cat_branch3x3dbl", {twice_wide, twice_tall});
  return concat(builder, "cat", {one, three, twice, pooled_branch(builder, 192, x)});
}

TensorId inception_stem(GraphBuilder& builder, TensorId x) {
  x = basic_conv(builder, "Conv2d_1a_3x3", Conv2d{.channels = 32, .kernel = 3, .stride = 2}, x);
  x = basic_conv(builder, "Conv2d_2a_3x3", Conv2d{.channels = 32, .kernel = 3}, x);
  x = basic_conv(builder, "Conv2d_2b_3x3", same_size(64, 3, 3), x);
  x = max_pool(builder, "maxpool1", halving_window, x);
  x = basic_conv(builder, "Conv2d_3b_1x1", Conv2d{.channels = 80}, x);
  x = basic_conv(builder, "Conv2d_4a_3x3", Conv2d{.channels = 192, .kernel = 3}, x);
  return max_pool(builder, "maxpool2", halving_window, x);
}

void auxiliary_head(GraphBuilder& builder, std::int64_t classes, TensorId x) {
  const GraphBuilder::Scope scope(builder, "AuxLogits");
  x = average_pool(builder, "avg_pool2d", {.kernel = 5, .stride = 3}, x);
  x = basic_conv(builder, "conv0", Conv2d{.channels = 128}, x);
  x = basic_conv(builder, "conv1", Conv2d{.channels = 768, .kernel = 5}, x);
  x = global_average(builder, "adaptive_avg_pool2d", x);
  builder.output(linear(builder, "fc", classes, x));
}

Graph build_inception_v3(const NetworkArguments& arguments) {
  GraphBuilder builder("inception_v3");
  const std::int64_t classes = arguments.number("classes");
  TensorId x = inception_stem(builder, image_input(builder, arguments.number("image")));
  x = module_a(builder, "Mixed_5b", 32, x);
  x = module_a(builder, "Mixed_5c", 64, x);
  x = module_a(builder, "Mixed_5d", 64, x);
  x = module_b(builder, "Mixed_6a", x);
  x = module_c(builder, "Mixed_6b", 128, x);
  x = module_c(builder, "Mixed_6c", 160, x);
  x = module_c(builder, "Mixed_6d", 160, x);
  const TensorId after_6e = x = module_c(builder, "Mixed_6e", 192, x);
  x = module_d(builder, "Mixed_7a", x);
  x = module_e(builder, "Mixed_7b", x);
  x = module_e(builder, "Mixed_7c", x);
  x = global_average(builder, "avgpool", x);
  x = dropout(builder, "dropout", 0.5, x);
  builder.output(linear(builder, "fc", classes, x));
  if (has_auxiliary_heads(arguments)) auxiliary_head(builder, classes, after_6e);
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 3> inception_v3_parameters{
    image_parameter("299"), classes_parameter, auxiliary_parameter};

constexpr std::array<Network, 1> inception_v3_family{{
    {"inception_v3", "Inception v3",
     "torchvision inception_v3, after Szegedy et al. 2015, Rethinking the inception architecture",
     inception_v3_parameters, build_inception_v3},
}};

}  // namespace

std::span<const Network> inception_v3_networks() { return inception_v3_family; }

}  // namespace strata::zoo
