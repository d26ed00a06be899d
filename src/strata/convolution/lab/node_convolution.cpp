// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/node_convolution.hpp"

namespace strata {
namespace {

/// What a convolution does along one axis of the image.
struct AxisOfConvolution {
  std::int64_t extent = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
};

std::int64_t value_or(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

AxisOfConvolution axis_of(const Convolution& op, const BoundTensor& image, std::size_t axis) {
  return {image[2 + axis],
          op.kernel[axis],
          value_or(op.stride, axis, 1),
          value_or(op.dilation, axis, 1),
          value_or(op.pad_begin, axis, 0),
          value_or(op.pad_end, axis, 0)};
}

}  // namespace

ConvPass NodeConvolution::pass_of(ConvPass of_node) const {
  if (!is_transposed || of_node == ConvPass::weight_gradient) return of_node;
  return of_node == ConvPass::forward ? ConvPass::input_gradient : ConvPass::forward;
}

std::optional<NodeConvolution> convolution_of(const BoundGraph& bound, const Node& node) {
  const auto* const op = std::get_if<Convolution>(&node.op);
  if (op == nullptr) return std::nullopt;
  NodeConvolution found{.shape = {}, .is_transposed = op->transposed};
  if (op->kernel.size() > 2) {
    found.refusal = "three dimensions";
    return found;
  }
  // The image is the larger one: the input, or the output of a transposed convolution.
  const BoundTensor& input = bound.tensors[node.inputs[0]];
  const BoundTensor& output = bound.tensors[node.outputs[0]];
  const BoundTensor& image = op->transposed ? output : input;
  AxisOfConvolution y;
  AxisOfConvolution x = axis_of(*op, image, op->kernel.size() - 1);
  if (op->kernel.size() == 2) y = axis_of(*op, image, 0);
  for (AxisOfConvolution* const axis : {&y, &x}) {
    if (axis->pad_begin == axis->pad_end) continue;
    found.has_uneven_padding = true;
    axis->extent += axis->pad_begin + axis->pad_end;
    axis->pad_begin = axis->pad_end = 0;
  }
  found.shape = {.batch = image[0],
                 .channels = image[1],
                 .height = y.extent,
                 .width = x.extent,
                 .filters = op->transposed ? input[1] : output[1],
                 .kernel_height = y.kernel,
                 .kernel_width = x.kernel,
                 .stride_height = y.stride,
                 .stride_width = x.stride,
                 .pad_height = y.pad_begin,
                 .pad_width = x.pad_begin,
                 .dilation_height = y.dilation,
                 .dilation_width = x.dilation,
                 .groups = op->groups};
  found.refusal = refusal_of(found.shape);
  return found;
}

}  // namespace strata
