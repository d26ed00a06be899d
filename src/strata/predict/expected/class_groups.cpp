// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/class_groups.hpp"

#include <algorithm>
#include <iterator>

namespace strata {
namespace {

constexpr std::string_view group_names[] = {"attention",
                                            "batch norm",
                                            "convolution",
                                            "convolution, channels last",
                                            "copies",
                                            "depthwise",
                                            "depthwise, channels last",
                                            "first",
                                            "first, channels last",
                                            "grouped",
                                            "grouped, channels last",
                                            "point-wise",
                                            "pooling",
                                            "products",
                                            "row norms",
                                            "sums",
                                            "updates"};

struct GroupPrefix {
  std::string_view prefix;  ///< of the class
  std::string_view group;
};

// The first that matches counts; everything else is point-wise.
constexpr GroupPrefix prefixes[] = {
    {"attention.", "attention"},
    {"batch_norm", "batch norm"},
    {"convolution_nhwc.", "convolution, channels last"},
    {"convolution", "convolution"},
    {"depthwise_nhwc.", "depthwise, channels last"},
    {"depthwise.", "depthwise"},
    {"first_nhwc.", "first, channels last"},
    {"first.", "first"},
    {"grouped_nhwc.", "grouped, channels last"},
    {"grouped.", "grouped"},
    {"linear.", "products"},
    {"batched.", "products"},
    {"layer_norm.", "row norms"},
    {"group_norm.", "row norms"},
    {"rms_norm.", "row norms"},
    {"softmax.", "row norms"},
    {"log_softmax.", "row norms"},
    {"cross_entropy.", "row norms"},
    {"max_pool.", "pooling"},
    {"average_pool.", "pooling"},
    {"global_pool.", "pooling"},
    {"update.", "updates"},
    {"column_sum", "sums"},
    {"channels.sum", "sums"},
    {"channels.mean", "sums"},
    {"heads.sum", "sums"},
    {"stream.sum", "sums"},
    {"heads.", "copies"},
    {"concat", "copies"},
    {"slice.", "copies"},
    {"stream.copy", "copies"},
    {"stream.cast", "copies"},
    {"channels.to_channels_last", "copies"},
};

std::size_t find_group(std::string_view name) {
  std::string_view group = "point-wise";
  for (const GroupPrefix& one : prefixes) {
    if (!name.starts_with(one.prefix)) continue;
    group = one.group;
    break;
  }
  return static_cast<std::size_t>(std::find(std::begin(group_names), std::end(group_names), group) -
                                  std::begin(group_names));
}

}  // namespace

std::span<const std::string_view> class_group_names() { return group_names; }

std::size_t class_group_of(OperationClass kernel_class) {
  return find_group(name_of(kernel_class));
}

std::span<const OperationClass> tabulated_siblings(OperationClass kernel_class) {
  static const OperationClass products[] = {*operation_class_named("linear.forward_no_bias"),
                                            *operation_class_named("linear.forward")};
  static const OperationClass convolutions[] = {*operation_class_named("convolution.forward")};
  static const OperationClass attention[] = {*operation_class_named("attention.forward")};
  switch (form_of(kernel_class)) {
    case KernelForm::product: return products;
    case KernelForm::convolution: return convolutions;
    case KernelForm::attention: return attention;
    default: return {};
  }
}

}  // namespace strata
