// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/keras/window.hpp"
#include "strata/importers/network/document.hpp"

#include <algorithm>

namespace strata::keras {
namespace {

Extents kernel_of(const Config& config, std::size_t axes) {
  if (config.find({"nb_row"}) != nullptr)
    return {config.whole({"nb_row"}), config.whole({"nb_col"})};
  if (config.find({"kernel_dim1"}) != nullptr) {
    return {config.whole({"kernel_dim1"}), config.whole({"kernel_dim2"}),
            config.whole({"kernel_dim3"})};
  }
  return config.extents({"kernel_size", "filter_length"}, axes);
}

/// What all convolutions have in common: window, padding and bias.
Convolution window_of(LayerCall& call, Value x, std::size_t axes) {
  const Config& config = call.config;
  Convolution op;
  op.kernel = kernel_of(config, axes);
  if (op.kernel.size() != axes) {
    fail(ErrorKind::input, "a kernel of {} axes, expected {}", op.kernel.size(), axes);
  }
  op.stride = config.extents({"strides", "subsample", "subsample_length"}, axes, 1);
  op.dilation = config.extents({"dilation_rate", "atrous_rate"}, axes, 1);
  op.bias = config.truth({"use_bias", "bias"}, true);
  const Padding padding = padding_of(call, x, {op.kernel, op.stride, op.dilation});
  op.pad_begin = padding.begin;
  op.pad_end = padding.end;
  return op;
}

Values make_conv(LayerCall& call, std::size_t axes) {
  const Value x = call.image(call.only_input());
  Convolution op = window_of(call, x, axes);
  op.channels = call.config.whole({"filters", "nb_filter"});
  op.groups = call.config.whole({"groups"}, 1);
  return {activated(call, {call.add(op, {x.id}), x.channels_at})};
}

Convolution depthwise(LayerCall& call, Value x, std::size_t axes) {
  Convolution op = window_of(call, x, axes);
  op.groups = call.net.builder().extent(x.id, 1);
  op.channels = checked_mul(op.groups, call.config.whole({"depth_multiplier"}, 1));
  return op;
}

Values make_depthwise(LayerCall& call, std::size_t axes) {
  const Value x = call.image(call.only_input());
  const Convolution op = depthwise(call, x, axes);
  return {activated(call, {call.add(op, {x.id}), x.channels_at})};
}

// A filter per channel, then a product over channels; only the second has the bias.
Values make_separable(LayerCall& call, std::size_t axes) {
  const Value x = call.image(call.only_input());
  Convolution per_channel = depthwise(call, x, axes);
  const bool has_bias = per_channel.bias;
  per_channel.bias = false;
  const TensorId filtered = call.add(per_channel, {x.id}, "depthwise");
  const Convolution over_channels{.channels = call.config.whole({"filters", "nb_filter"}),
                                  .kernel = Extents(axes, 1),
                                  .bias = has_bias};
  return {activated(call, {call.add(over_channels, {filtered}, "pointwise"), x.channels_at})};
}

// keras.src.backend.common.backend_utils and, for Keras 1 and 2, conv_utils.deconv_output_length:
// without output_padding the result is as long as the input of a convolution that would give x.
struct Adjoint {
  std::int64_t pads = 0;
  std::int64_t output_padding = 0;
};

Adjoint adjoint_of(std::int64_t kernel, std::int64_t stride, bool is_same,
                   std::optional<std::int64_t> output_padding) {
  if (output_padding) return {is_same ? 2 * (kernel / 2) : 0, *output_padding};
  if (is_same) {
    return {std::max<std::int64_t>(kernel - stride, 0), std::max<std::int64_t>(stride - kernel, 0)};
  }
  return {0, std::max<std::int64_t>(stride - kernel, 0)};
}

Values make_conv_transpose(LayerCall& call, std::size_t axes) {
  const Value x = call.image(call.only_input());
  const Config& config = call.config;
  Convolution op;
  op.transposed = true;
  op.kernel = kernel_of(config, axes);
  op.stride = config.extents({"strides", "subsample"}, axes, 1);
  op.dilation = config.extents({"dilation_rate"}, axes, 1);
  op.channels = config.whole({"filters", "nb_filter"});
  op.groups = config.whole({"groups"}, 1);
  op.bias = config.truth({"use_bias", "bias"}, true);
  const bool is_same = is_same_padding(config);
  const bool has_output_padding = config.find({"output_padding"}) != nullptr;
  const Extents stated = config.extents({"output_padding"}, axes, 0);
  for (std::size_t axis = 0; axis < op.kernel.size(); ++axis) {
    const std::int64_t covered = covered_by(op.kernel[axis], op.dilation[axis]);
    const Adjoint adjoint =
        adjoint_of(covered, op.stride[axis], is_same,
                   has_output_padding ? std::optional(stated[axis]) : std::nullopt);
    op.pad_begin.push_back(adjoint.pads / 2);
    op.pad_end.push_back(adjoint.pads - adjoint.pads / 2);
    op.output_padding.push_back(adjoint.output_padding);
  }
  return {activated(call, {call.add(op, {x.id}), x.channels_at})};
}

}  // namespace

Values make_conv1d(LayerCall& call) { return make_conv(call, 1); }
Values make_conv2d(LayerCall& call) { return make_conv(call, 2); }
Values make_conv3d(LayerCall& call) { return make_conv(call, 3); }
Values make_depthwise_conv1d(LayerCall& call) { return make_depthwise(call, 1); }
Values make_depthwise_conv2d(LayerCall& call) { return make_depthwise(call, 2); }
Values make_separable_conv1d(LayerCall& call) { return make_separable(call, 1); }
Values make_separable_conv2d(LayerCall& call) { return make_separable(call, 2); }
Values make_conv1d_transpose(LayerCall& call) { return make_conv_transpose(call, 1); }
Values make_conv2d_transpose(LayerCall& call) { return make_conv_transpose(call, 2); }
Values make_conv3d_transpose(LayerCall& call) { return make_conv_transpose(call, 3); }

}  // namespace strata::keras
