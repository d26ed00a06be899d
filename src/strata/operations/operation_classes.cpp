// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/operation_classes.hpp"

#include <iterator>
#include <string>
#include <unordered_map>

namespace strata {
namespace {

constexpr std::string_view element_dims[] = {"elements"};
constexpr std::string_view row_dims[] = {"rows", "columns"};
constexpr std::string_view channel_dims[] = {"channels", "elements_per_channel"};
constexpr std::string_view pool_dims[] = {"input_elements", "output_elements", "window"};
constexpr std::string_view product_dims[] = {"batch", "m", "n", "k"};
constexpr std::string_view convolution_dims[] = {
    "samples", "channels", "filters", "input_pixels", "output_pixels", "window", "groups"};
constexpr std::string_view lookup_dims[] = {"tokens", "rows", "width"};
constexpr std::string_view list_dims[] = {"tensors", "elements"};
constexpr std::string_view recurrent_dims[] = {"samples", "time_steps", "width", "hidden",
                                               "layers"};
constexpr std::string_view attention_dims[] = {"samples", "heads", "queries",
                                               "keys",    "width", "causal"};

constexpr std::string_view class_names[] = {"linear.forward",
                                            "linear.forward_no_bias",
                                            "linear.backward_input",
                                            "linear.backward_weight",
                                            "column_sum",
                                            "batched.nn",
                                            "batched.nt",
                                            "batched.tn",
                                            "convolution.forward",
                                            "convolution.backward_input",
                                            "convolution.backward_weight",
                                            "convolution_nhwc.forward",
                                            "convolution_nhwc.backward_input",
                                            "convolution_nhwc.backward_weight",
                                            "first.forward",
                                            "first.backward_input",
                                            "first.backward_weight",
                                            "first_nhwc.forward",
                                            "first_nhwc.backward_input",
                                            "first_nhwc.backward_weight",
                                            "grouped.forward",
                                            "grouped.backward_input",
                                            "grouped.backward_weight",
                                            "grouped_nhwc.forward",
                                            "grouped_nhwc.backward_input",
                                            "grouped_nhwc.backward_weight",
                                            "depthwise.forward",
                                            "depthwise.backward_input",
                                            "depthwise.backward_weight",
                                            "depthwise_nhwc.forward",
                                            "depthwise_nhwc.backward_input",
                                            "depthwise_nhwc.backward_weight",
                                            "convolution_3d.forward",
                                            "convolution_3d.backward_input",
                                            "convolution_3d.backward_weight",
                                            "batch_norm.forward",
                                            "batch_norm.backward",
                                            "batch_norm.inference",
                                            "batch_norm_nhwc.forward",
                                            "batch_norm_nhwc.backward",
                                            "batch_norm_nhwc.inference",
                                            "layer_norm.forward",
                                            "layer_norm.backward",
                                            "group_norm.forward",
                                            "group_norm.backward",
                                            "softmax.forward",
                                            "softmax.backward",
                                            "log_softmax.forward",
                                            "log_softmax.backward",
                                            "cross_entropy.forward",
                                            "cross_entropy.backward",
                                            "max_pool.forward",
                                            "max_pool.backward",
                                            "average_pool.forward",
                                            "average_pool.backward",
                                            "global_pool.forward",
                                            "global_pool.backward",
                                            "relu.forward",
                                            "relu.backward",
                                            "relu6.forward",
                                            "relu6.backward",
                                            "gelu.forward",
                                            "gelu.backward",
                                            "silu.forward",
                                            "silu.backward",
                                            "hardswish.forward",
                                            "hardswish.backward",
                                            "sigmoid.forward",
                                            "sigmoid.backward",
                                            "tanh.forward",
                                            "tanh.backward",
                                            "dropout.forward",
                                            "dropout.backward",
                                            "embedding.forward",
                                            "embedding.backward",
                                            "lstm.forward",
                                            "lstm.backward",
                                            "gru.forward",
                                            "gru.backward",
                                            "attention.forward",
                                            "attention.backward",
                                            "stream.add",
                                            "stream.mul",
                                            "stream.add_",
                                            "stream.copy",
                                            "stream.cast",
                                            "stream.fill",
                                            "stream.scale",
                                            "stream.sum",
                                            "channels.add_bias",
                                            "channels.sum_to_channels",
                                            "channels.scale_channels",
                                            "channels.sum_to_scales",
                                            "channels.to_channels_last",
                                            "channels.mean",
                                            "heads.permute_contiguous",
                                            "heads.transpose_contiguous",
                                            "heads.add_mask",
                                            "heads.scores_scale",
                                            "heads.sum_rows",
                                            "concat",
                                            "update.sgd",
                                            "update.momentum",
                                            "update.adam",
                                            "update.adamw_fused",
                                            "batched.backward",
                                            "rms_norm.forward",
                                            "rms_norm.backward",
                                            "local_response_norm.forward",
                                            "local_response_norm.backward",
                                            "gelu_tanh.forward",
                                            "gelu_tanh.backward",
                                            "rnn.forward",
                                            "rnn.backward",
                                            "rotary.forward",
                                            "rotary.backward",
                                            "multiply.backward",
                                            "multiply_broadcast.backward",
                                            "reduce.forward",
                                            "reduce.backward",
                                            "concat.backward",
                                            "slice.backward",
                                            "resize.forward",
                                            "resize.backward"};

struct FormOfPrefix {
  std::string_view prefix;
  KernelForm form;
};
// The first that matches counts; all others depend on their elements alone.
constexpr FormOfPrefix forms[] = {
    {"linear.", KernelForm::product},
    {"batched.", KernelForm::product},
    {"convolution", KernelForm::convolution},
    {"first", KernelForm::convolution},
    {"grouped", KernelForm::convolution},
    {"depthwise", KernelForm::depthwise},
    {"batch_norm.inference", KernelForm::rows},
    {"batch_norm_nhwc.inference", KernelForm::rows},
    {"batch_norm", KernelForm::channels},
    {"layer_norm.", KernelForm::rows},
    {"softmax.", KernelForm::rows},
    {"log_softmax.", KernelForm::rows},
    {"cross_entropy.", KernelForm::rows},
    {"group_norm.", KernelForm::rows},
    {"rms_norm.", KernelForm::rows},
    {"reduce.", KernelForm::rows},
    {"global_pool.", KernelForm::rows},
    {"channels.mean", KernelForm::rows},
    {"channels.sum_to_scales", KernelForm::rows},
    {"heads.sum_rows", KernelForm::rows},
    {"column_sum", KernelForm::rows},
    {"max_pool.", KernelForm::pool},
    {"average_pool.", KernelForm::pool},
    {"embedding.", KernelForm::lookup},
    {"update.", KernelForm::list},
    {"lstm.", KernelForm::recurrent},
    {"gru.", KernelForm::recurrent},
    {"rnn.", KernelForm::recurrent},
    {"attention.", KernelForm::attention},
};

/// Layouts and shapes of images of which a calibration may know less: the first that is in the name
/// is replaced.
constexpr std::pair<std::string_view, std::string_view> instead[] = {
    {"_nhwc.", "."}, {"convolution_3d.", "convolution."}};

const std::unordered_map<std::string_view, OperationClass>& classes_by_name() {
  static const auto classes = [] {
    std::unordered_map<std::string_view, OperationClass> all;
    for (std::size_t i = 0; i < std::size(class_names); ++i)
      all.emplace(class_names[i], static_cast<OperationClass>(i));
    return all;
  }();
  return classes;
}

KernelForm form_of_name(std::string_view name) {
  for (const FormOfPrefix& one : forms) {
    if (name.starts_with(one.prefix)) return one.form;
  }
  return KernelForm::elements;
}

}  // namespace

std::span<const std::string_view> operation_class_names() { return class_names; }

std::string_view name_of(OperationClass kernel_class) {
  return class_names[static_cast<std::size_t>(kernel_class)];
}

std::optional<OperationClass> operation_class_named(std::string_view name) {
  const auto found = classes_by_name().find(name);
  if (found == classes_by_name().end()) return std::nullopt;
  return found->second;
}

std::optional<OperationClass> class_instead(OperationClass kernel_class) {
  const std::string_view name = name_of(kernel_class);
  for (const auto& [what, by] : instead) {
    const std::size_t at = name.find(what);
    if (at == std::string_view::npos) continue;
    std::string other(name);
    return operation_class_named(other.replace(at, what.size(), by));
  }
  return std::nullopt;
}

std::span<const std::string_view> dims_of(KernelForm form) {
  switch (form) {
    case KernelForm::elements: return element_dims;
    case KernelForm::rows: return row_dims;
    case KernelForm::channels: return channel_dims;
    case KernelForm::pool: return pool_dims;
    case KernelForm::product: return product_dims;
    case KernelForm::convolution:
    case KernelForm::depthwise: return convolution_dims;
    case KernelForm::lookup: return lookup_dims;
    case KernelForm::list: return list_dims;
    case KernelForm::recurrent: return recurrent_dims;
    case KernelForm::attention: return attention_dims;
  }
  return element_dims;
}

KernelForm form_of(OperationClass kernel_class) {
  static const auto all = [] {
    std::array<KernelForm, std::size(class_names)> found{};
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = form_of_name(class_names[i]);
    return found;
  }();
  return all[static_cast<std::size_t>(kernel_class)];
}

}  // namespace strata
