// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/network_points.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

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

void make_symmetric(AxisOfConvolution& axis) {
  if (axis.pad_begin == axis.pad_end) return;
  axis.extent += axis.pad_begin + axis.pad_end;
  axis.pad_begin = axis.pad_end = 0;
}

/// The image is the larger one: the input, or the output of a transposed convolution.
ConvShape shape_of(const Convolution& op, const BoundTensor& image, std::int64_t filters) {
  AxisOfConvolution y;
  AxisOfConvolution x = axis_of(op, image, op.kernel.size() - 1);
  if (op.kernel.size() == 2) y = axis_of(op, image, 0);
  make_symmetric(y);
  make_symmetric(x);
  return {.batch = image[0],
          .channels = image[1],
          .height = y.extent,
          .width = x.extent,
          .filters = filters,
          .kernel_height = y.kernel,
          .kernel_width = x.kernel,
          .stride_height = y.stride,
          .stride_width = x.stride,
          .pad_height = y.pad_begin,
          .pad_width = x.pad_begin,
          .dilation_height = y.dilation,
          .dilation_width = x.dilation,
          .groups = op.groups};
}

std::array<std::int64_t, 3> passes_of(const Node& node, const BoundGraph& bound,
                                      const Convolution& op) {
  std::array<std::int64_t, 3> counts = {
      1, bound.tensors[node.inputs[0]].wants_gradient ? 1 : 0,
      bound.tensors[node.inputs[node.first_own]].wants_gradient ? 1 : 0};
  // Forward is the input gradient of the convolution that it is the adjoint of, and the reverse.
  if (op.transposed) std::swap(counts[0], counts[1]);
  return counts;
}

}  // namespace

NetworkConvolutions network_convolutions(const BoundGraph& bound) {
  NetworkConvolutions found;
  found.series.name = bound.graph->name;
  std::map<std::string, std::size_t> known;
  for (const Node& node : bound.graph->nodes) {
    const auto* op = std::get_if<Convolution>(&node.op);
    if (op == nullptr) continue;
    if (op->kernel.size() > 2) {
      found.left_out.push_back({node.name, "three dimensions"});
      continue;
    }
    const BoundTensor& input = bound.tensors[node.inputs[0]];
    const BoundTensor& output = bound.tensors[node.outputs[0]];
    const ConvShape shape =
        op->transposed ? shape_of(*op, output, input[1]) : shape_of(*op, input, output[1]);
    if (const auto reason = refusal_of(shape)) {
      found.left_out.push_back({node.name, *reason});
      continue;
    }
    const auto counts = passes_of(node, bound, *op);
    const auto [place, is_new] = known.try_emplace(to_text(shape), found.series.points.size());
    if (is_new) {
      found.series.points.push_back({node.name, std::nullopt, shape, counts});
      continue;
    }
    ConvPoint& point = found.series.points[place->second];
    for (std::size_t pass = 0; pass < counts.size(); ++pass) point.counts[pass] += counts[pass];
  }
  return found;
}

}  // namespace strata
