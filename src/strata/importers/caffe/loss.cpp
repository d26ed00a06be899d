// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/layers.hpp"

#include <fmt/format.h>

namespace strata::caffe {

// Labels are class numbers, one per place of the prediction.
void add_softmax_loss(const Layer& layer, Net& net) {
  const SoftmaxCrossEntropy op{.axis = layer.message->message("softmax_param").number("axis", 1)};
  const TensorId logits = net.bottom(layer);
  const std::size_t classes = normal_axis(op.axis, net.axes(logits));
  Shape labels;
  for (std::size_t axis = 0; axis < net.axes(logits); ++axis) {
    if (axis != classes) labels.push_back(net.shape(logits)[axis]);
  }
  const TensorId target = net.bottom_as(layer, 1, DType::int64, labels);
  net.set_top(layer, net.add(layer, op, {logits, target}));
}

void add_sigmoid_loss(const Layer& layer, Net& net) {
  net.note(WarningCode::value_assumed, layer,
           "sigmoid cross-entropy is counted as a sigmoid and a squared error");
  const TensorId logits = net.bottom(layer);
  const TensorId target = net.bottom_as(layer, 1, DType::fp32, net.shape(logits));
  const TensorId squashed = net.add_step(layer, "sigmoid", Unary{UnaryKind::sigmoid}, {logits});
  net.set_top(layer, net.add(layer, SquaredError{}, {squashed, target}));
}

void add_euclidean_loss(const Layer& layer, Net& net) {
  const TensorId prediction = net.bottom(layer);
  const TensorId target = net.bottom_as(layer, 1, DType::fp32, net.shape(prediction));
  net.set_top(layer, net.add(layer, SquaredError{}, {prediction, target}));
}

// How far two features of a pair lie apart, against whether they should be alike.
void add_contrastive_loss(const Layer& layer, Net& net) {
  net.note(WarningCode::value_assumed, layer,
           "contrastive loss is counted as distance and squared error");
  const TensorId left = net.bottom(layer, 0);
  const TensorId right = net.bottom(layer, 1);
  const TensorId difference =
      net.add_step(layer, "difference", Elementwise{ElementwiseKind::subtract}, {left, right});
  Reduce length{.kind = ReduceKind::l2};
  for (std::size_t axis = 1; axis < net.axes(difference); ++axis) {
    length.axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (length.axes.empty()) length.axes.push_back(0);
  const TensorId distance = net.add_step(layer, "distance", length, {difference});
  const TensorId alike = net.bottom_as(layer, 2, DType::fp32, net.shape(distance));
  net.set_top(layer, net.add(layer, SquaredError{}, {distance, alike}));
}

void add_other_loss(const Layer& layer, Net& net) {
  net.note(WarningCode::operator_not_counted, layer,
           fmt::format("the loss {} is not counted", layer.type));
  net.set_top(layer, add_opaque(layer, net, {}));
}

// Measures of a trained network, and sinks.
void add_ignored(const Layer& layer, Net& net) {
  net.swallow(layer);
  if (layer.kind == "silence" || layer.kind == "accuracy") return;
  net.note(WarningCode::part_ignored, layer,
           fmt::format("{} judges or stores results; it is left out", layer.type));
}

}  // namespace strata::caffe
