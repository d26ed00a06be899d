// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"

#include <unordered_map>

namespace strata::caffe {
namespace {

bool scales_channels(const Layer& layer) {
  const Message& parameters = layer.message->message("scale_param");
  return layer.kind == "scale" && layer.bottoms.size() == 1 && layer.tops.size() == 1 &&
         layer.parameter_names.empty() && parameters.number("axis", 1) == 1 &&
         parameters.number("num_axes", 1) == 1;
}

/// Extents [axis, axis + count) of x with ones behind them, so that they meet x by broadcasting;
/// count −1 means up to the last axis.
Shape aligned(TensorId x, std::int64_t from, std::int64_t count, Net& net) {
  const Shape& shape = net.shape(x);
  const std::size_t axis = normal_axis(from, shape.size());
  const std::size_t end = count < 0 ? shape.size() : axis + static_cast<std::size_t>(count);
  if (end > shape.size()) {
    fail(ErrorKind::input, "field 'num_axes': {} axes from axis {} of {}", count, axis,
         text_of(shape, net.builder().symbols()));
  }
  Shape result;
  for (std::size_t i = axis; i < shape.size(); ++i) {
    if (i < end)
      net.builder().extent(x, static_cast<std::int64_t>(i));  // weights have a fixed size
    result.push_back(i < end ? shape[i] : Dim(1));
  }
  return result;
}

/// The second bottom of a Scale or Bias layer, with ones behind its extents.
TensorId second_operand(const Layer& layer, std::int64_t from, TensorId x, Net& net) {
  const TensorId operand = net.bottom(layer, 1);
  const std::size_t axis = normal_axis(from, net.axes(x));
  Shape shape = net.shape(operand);
  if (axis + shape.size() >= net.axes(x)) return operand;
  while (axis + shape.size() < net.axes(x)) shape.push_back(1);
  return net.add_step(layer, "align", Reshape{shape}, {operand});
}

}  // namespace

void join_scales(std::span<const Layer> layers, Net& net) {
  struct Version {
    const Layer* maker = nullptr;
    const Layer* reader = nullptr;
    std::size_t readers = 0;
  };
  std::vector<Version> norms;
  std::unordered_map<std::string_view, std::size_t> current;  // blob → its norm
  for (const Layer& layer : layers) {
    for (const std::string& bottom : layer.bottoms) {
      const auto found = current.find(bottom);
      if (found == current.end()) continue;
      norms[found->second].reader = &layer;
      ++norms[found->second].readers;
    }
    for (const std::string& top : layer.tops) current.erase(top);
    if (layer.kind != "batchnorm" || layer.tops.size() != 1) continue;
    current[layer.tops[0]] = norms.size();
    norms.push_back({&layer});
  }
  for (const Version& norm : norms) {
    if (norm.readers != 1 || !scales_channels(*norm.reader)) continue;
    net.scale_of_norm[norm.maker] = norm.reader;
    net.is_part_of_norm.insert(norm.reader);
  }
}

// Caffe's BatchNorm only normalises; a Scale layer behind it learns factor and shift. Together they
// are what everybody else calls batch normalisation.
void add_batch_norm(const Layer& layer, Net& net) {
  BatchNorm op{.scale = false, .shift = false};
  if (const auto scale = net.scale_of_norm.find(&layer); scale != net.scale_of_norm.end()) {
    op.scale = true;
    op.shift = scale->second->message->message("scale_param").flag("bias_term", false);
  }
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

void add_scale(const Layer& layer, Net& net) {
  TensorId x = net.bottom(layer);
  if (net.is_part_of_norm.contains(&layer)) return net.set_top(layer, x);
  const Message& parameters = layer.message->message("scale_param");
  const std::int64_t axis = parameters.number("axis", 1);
  const bool is_learnt = layer.bottoms.size() < 2;
  const Shape shape = is_learnt ? aligned(x, axis, parameters.number("num_axes", 1), net) : Shape{};
  const TensorId factor =
      is_learnt ? net.parameter(layer, 0, "weight", shape) : second_operand(layer, axis, x, net);
  x = net.add(layer, Elementwise{ElementwiseKind::multiply}, {x, factor});
  if (parameters.flag("bias_term", false)) {
    const Shape bias_shape = is_learnt ? shape : aligned(x, axis, 1, net);
    const TensorId bias = net.parameter(layer, is_learnt ? 1 : 0, "bias", bias_shape);
    x = net.add_step(layer, "bias", Elementwise{ElementwiseKind::add}, {x, bias});
  }
  net.set_top(layer, x);
}

void add_bias(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("bias_param");
  const TensorId x = net.bottom(layer);
  const std::int64_t axis = parameters.number("axis", 1);
  const TensorId bias =
      layer.bottoms.size() > 1
          ? second_operand(layer, axis, x, net)
          : net.parameter(layer, 0, "bias",
                          aligned(x, axis, parameters.number("num_axes", 1), net));
  net.set_top(layer, net.add(layer, Elementwise{ElementwiseKind::add}, {x, bias}));
}

// Mean and variance of each sample, per channel or over all of them; nothing is learnt.
void add_mvn(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("mvn_param");
  const bool is_across = parameters.flag("across_channels", false);
  const Operator op = is_across ? Operator(LayerNorm{.axis = 1, .scale = false, .shift = false})
                                : Operator(GroupNorm{.scale = false, .shift = false});
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

// SSD's: each pixel divided by the length of its channels (or the whole image by its own), times a
// learnt factor.
void add_normalize(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("norm_param");
  const TensorId x = net.bottom(layer);
  Reduce length{.kind = ReduceKind::l2, .axes = {1}, .keep_axes = true};
  if (parameters.flag("across_spatial", true)) {
    for (std::size_t axis = 2; axis < net.axes(x); ++axis) {
      length.axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  const TensorId norm = net.add_step(layer, "length", length, {x});
  const TensorId unit =
      net.add_step(layer, "divide", Elementwise{ElementwiseKind::divide}, {x, norm});
  const bool is_shared = parameters.flag("channel_shared", true);
  const TensorId factor =
      net.parameter(layer, 0, "weight", is_shared ? Shape{1} : aligned(x, 1, 1, net));
  net.set_top(layer, net.add(layer, Elementwise{ElementwiseKind::multiply}, {unit, factor}));
}

}  // namespace strata::caffe
