// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"

#include <array>

namespace strata::caffe {
namespace {

/// One number per spatial axis: `<name>_h` and `<name>_w`, or `<name>` once for each axis or once
/// for all.
Extents per_axis(const Message& parameters, std::string_view name, std::string_view stem,
                 std::size_t axes, std::int64_t otherwise) {
  const std::string along_height = std::string(stem) + "_h";
  const std::string along_width = std::string(stem) + "_w";
  if (parameters.has(along_height) || parameters.has(along_width)) {
    return {parameters.number(along_height, otherwise), parameters.number(along_width, otherwise)};
  }
  const std::vector<std::int64_t> given = parameters.numbers(name);
  if (given.size() > 1 && given.size() != axes) {
    fail(ErrorKind::input, "field '{}': expected 1 or {} values, got {}", name, axes, given.size());
  }
  Extents extents;
  for (std::size_t i = 0; i < axes; ++i) {
    extents.push_back(given.empty() ? otherwise : given[given.size() == 1 ? 0 : i]);
  }
  return extents;
}

Convolution convolution_of(const Layer& layer, Net& net, TensorId x) {
  const Message& parameters = layer.message->message("convolution_param");
  const std::size_t axes = net.axes(x) < 3 ? 2 : net.axes(x) - 2;
  if (axes > 3) {
    fail(ErrorKind::unsupported, "a convolution over {} spatial axes; Strata knows 1 to 3", axes);
  }
  const std::int64_t axis = parameters.number("axis", 1);
  if (axis != 1 && axis != 1 - static_cast<std::int64_t>(net.axes(x))) {
    fail(ErrorKind::unsupported, "field 'axis': channels on axis {}; Strata has them on axis 1",
         axis);
  }
  const Extents pad = per_axis(parameters, "pad", "pad", axes, 0);
  Convolution op{.channels = parameters.number("num_output", 0),
                 .kernel = per_axis(parameters, "kernel_size", "kernel", axes, 0),
                 .stride = per_axis(parameters, "stride", "stride", axes, 1),
                 .dilation = per_axis(parameters, "dilation", "dilation", axes, 1),
                 .pad_begin = pad,
                 .pad_end = pad,
                 .groups = parameters.number("group", 1),
                 .bias = parameters.flag("bias_term", true),
                 .transposed = layer.kind == "deconvolution"};
  if (layer.kind == "convolutiondepthwise" || layer.kind == "depthwiseconvolution") {
    op.groups = net.builder().extent(x, 1);
  }
  return op;
}

/// Own tensors of a node.
std::vector<TensorId> own_tensors(Net& net, NodeId id) {
  const Node& node = net.builder().graph().nodes[id];
  return {node.inputs.begin() + node.first_own, node.inputs.end()};
}

}  // namespace

// Several bottoms go through the same filters, each to its own top.
void add_convolution(const Layer& layer, Net& net) {
  const TensorId first = net.bottom(layer);
  const Convolution op = convolution_of(layer, net, first);
  const NodeId node = net.add_node(layer, op, std::array{first});
  net.set_top(layer, net.builder().output_of(node));
  for (std::size_t i = 1; i < layer.bottoms.size(); ++i) {
    const std::array inputs{net.bottom(layer, i)};
    const NodeId more = net.add_node(layer, op, inputs, own_tensors(net, node));
    net.set_top(layer, net.builder().output_of(more), i);
  }
}

// Joins the axes from `axis` on; which way round the weights lie does not matter.
void add_inner_product(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("inner_product_param");
  TensorId x = net.bottom(layer);
  const std::size_t axis = normal_axis(parameters.number("axis", 1), net.axes(x));
  if (axis + 1 < net.axes(x)) {
    const Flatten flatten{.axis = static_cast<std::int64_t>(axis)};
    x = net.add_step(layer, "flatten", flatten, {x});
  }
  const Linear op{.features = parameters.number("num_output", 0),
                  .bias = parameters.flag("bias_term", true)};
  net.set_top(layer, net.add(layer, op, {x}));
}

void add_embed(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("embed_param");
  const Embedding op{.vocabulary = parameters.number("input_dim", 0),
                     .width = parameters.number("num_output", 0)};
  TensorId y = net.add(layer, op, {net.bottom_as(layer, 0, DType::int64)});
  if (parameters.flag("bias_term", true)) {
    const TensorId bias = net.parameter(layer, 1, "bias", {op.width});
    y = net.add_step(layer, "bias", Elementwise{ElementwiseKind::add}, {y, bias});
  }
  net.set_top(layer, y);
}

}  // namespace strata::caffe
