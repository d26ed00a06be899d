// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"
#include "strata/importers/onnx/ops/window.hpp"
#include "strata/importers/onnx/tensor_data.hpp"

#include <algorithm>
#include <array>

namespace strata::onnx {
namespace {

/// Positions of weight and bias, which differ between Conv and its quantised forms.
struct ConvInputs {
  std::size_t weight = 1;
  std::size_t bias = 2;
};

// The weight's extents as numbers: they are the convolution.
Shape weight_shape(OpContext& context, std::size_t weight) {
  const Shape shape = context.shape(weight);
  if (shape.size() != context.rank(0)) {
    fail(ErrorKind::input, "the weight has {} axes, the input {}", shape.size(), context.rank(0));
  }
  if (shape.size() < 3) fail(ErrorKind::input, "a convolution of {} axes", shape.size());
  for (const Dim extent : shape) {
    if (!extent.is_number() && !context.is_constant(weight)) {
      fail(
          ErrorKind::unsupported,
          "a conditional convolution: its weight, {}, is mixed for every sample; with a batch that "
          "the file fixes it can be read",
          text_of(shape, context.symbols()));
    }
    number_of(context, extent, "an extent of the weight");
  }
  return shape;
}

Extents kernel_of(const Shape& weight) {
  Extents kernel;
  for (std::size_t axis = 2; axis < weight.size(); ++axis) kernel.push_back(weight[axis].factor);
  return kernel;
}

Convolution with_window(Convolution op, const Window& window) {
  op.kernel = window.kernel;
  op.stride = window.stride;
  op.dilation = window.dilation;
  op.pad_begin = window.pad_begin;
  op.pad_end = window.pad_end;
  return op;
}

// A blur before a stride keeps its kernel as a buffer, which files do not tell from a parameter.
// PyTorch calls the weights of its layers so; what is called otherwise is judged by its numbers,
// or, where they are in another file, by the name that blurs have.
bool is_blur_kernel(OpContext& context, const Convolution& op, const Shape& weight,
                    std::size_t input) {
  const bool is_depthwise = op.groups > 1 && op.groups == op.channels && weight[1].is(1);
  const Constant* const stored = context.constant(input);
  if (!is_depthwise || stored == nullptr || stored->data == nullptr) return false;
  const std::string_view name = stored->name;
  if (name.ends_with("weight")) return false;
  return is_blur(*stored->data, op.channels)
      .value_or(name.ends_with(".filt") || name.ends_with("resample_filter"));
}

DraftId add_convolution(OpContext& context, const Convolution& op, const Shape& weight,
                        const ConvInputs& inputs) {
  const DraftId x = context.tensor(0);
  std::vector<DraftId> own = {
      is_blur_kernel(context, op, weight, inputs.weight)
          ? context.weight(inputs.weight, weight, "kernel", TensorKind::constant)
          : context.weight_or_made(inputs.weight, weight, "weight")};
  if (op.bias) {
    own.push_back(context.weight_or_made(inputs.bias, {op.channels}, "bias", own.front()));
  }
  return context.add(op, std::array{x}, own);
}

DraftId convolution(OpContext& context, const ConvInputs& inputs) {
  const Shape x = context.shape(0);
  const Shape weight = weight_shape(context, inputs.weight);
  Window window = window_of(context, x.size() - 2, kernel_of(weight));
  set_padding(context, x, window);
  Convolution op = with_window({}, window);
  op.channels = weight[0].factor;
  op.groups = context.integer("group", 1);
  op.bias = context.has(inputs.bias);
  return add_convolution(context, op, weight, inputs);
}

void lower_conv(OpContext& context) { context.set(0, convolution(context, {})); }

// The third input of ConvInteger is a zero point.
void lower_conv_integer(OpContext& context) {
  context.set(0, convolution(context, {.weight = 1, .bias = context.input_count() + 1}));
}

void lower_qlinear_conv(OpContext& context) {
  context.set(0, convolution(context, {.weight = 3, .bias = 8}));
}

// Conv, then the sum with another branch, then an activation.
void lower_fused_conv(OpContext& context) {
  DraftId y = convolution(context, {});
  if (context.has(3)) y = context.add(Elementwise{}, {y, context.tensor(3)}, {}, "sum");
  context.set(0, with_fused_activation(context, y));
}

// ---- transposed ---------------------------------------------------------------------------------

// The extent of the full adjoint, (in − 1)·stride + cover + output padding, is cut to what is asked
// for; where more is asked for than there is, it is padded instead.
void cut_to(Convolution& op, std::size_t axis, std::int64_t excess, bool is_upper) {
  if (excess < 0) {
    op.output_padding[axis] = checked_add(op.output_padding[axis], -excess);
    excess = 0;
  }
  const std::int64_t small = excess / 2;
  op.pad_begin[axis] = is_upper ? small : excess - small;
  op.pad_end[axis] = excess - op.pad_begin[axis];
}

void set_transposed_padding(OpContext& context, const Shape& x, Convolution& op, Window& window) {
  const std::size_t axes = window.kernel.size();
  const std::string_view mode = context.word("auto_pad", "NOTSET");
  const auto output_shape = context.integers("output_shape");
  const bool is_same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!output_shape && !is_same) {
    set_padding(context, x, window);
    op = with_window(op, window);
    return;
  }
  window.pad_begin = Extents(axes, 0);
  window.pad_end = Extents(axes, 0);
  op = with_window(op, window);
  if (output_shape && output_shape->size() < axes) {
    fail(ErrorKind::input, "output_shape has {} entries for {} spatial axes", output_shape->size(),
         axes);
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t cover =
        checked_add(checked_mul(window.dilation[axis], window.kernel[axis] - 1), 1);
    const std::int64_t beyond_stride =
        checked_add(checked_add(cover, -window.stride[axis]), op.output_padding[axis]);
    std::int64_t excess = beyond_stride;  // SAME: the result is in·stride
    if (output_shape) {
      const std::int64_t in = number_of(context, x[axis + 2], "the extent beside output_shape");
      const std::int64_t asked = (*output_shape)[output_shape->size() - axes + axis];
      const std::int64_t full = checked_add(checked_mul(in, window.stride[axis]), beyond_stride);
      excess = checked_add(full, checked_mul(asked, -1));
    }
    cut_to(op, axis, excess, mode == "SAME_UPPER");
  }
}

void lower_conv_transpose(OpContext& context) {
  const Shape x = context.shape(0);
  const Shape weight = weight_shape(context, 1);
  const std::size_t axes = x.size() - 2;
  Window window = window_of(context, axes, kernel_of(weight));
  Convolution op;
  op.transposed = true;
  op.groups = context.integer("group", 1);
  op.channels = checked_mul(weight[1].factor, op.groups);
  op.bias = context.has(2);
  op.output_padding = extents_attribute(context, "output_padding", axes).value_or(Extents(axes, 0));
  set_transposed_padding(context, x, op, window);
  context.set(0, add_convolution(context, op, weight, {}));
}

constexpr std::array convolution_rows = {
    OpRow{"Conv", lower_conv},
    OpRow{"ConvInteger", lower_conv_integer},
    OpRow{"ConvTranspose", lower_conv_transpose},
    OpRow{"FusedConv", lower_fused_conv},
    OpRow{"QLinearConv", lower_qlinear_conv},
};

}  // namespace

std::span<const OpRow> convolution_ops() { return convolution_rows; }

}  // namespace strata::onnx
