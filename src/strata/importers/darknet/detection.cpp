// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/darknet/sections.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

namespace strata::darknet {
namespace {

// Boxes that each cell of the grid predicts: those of the mask, or all.
std::int64_t boxes_of(const Section& section) {
  const std::vector<std::int64_t> mask = section.numbers("mask");
  return mask.empty() ? section.number("num", 1) : static_cast<std::int64_t>(mask.size());
}

Made detector(const Yolo& op, Assembly& net) {
  return {net.builder().add(net.numbered("yolo"), op, {net.as_image(net.previous())})};
}

void expect_features(std::int64_t expected, std::string_view because, Assembly& net) {
  const std::int64_t came = net.features(net.previous());
  if (came == expected) return;
  fail(ErrorKind::input, "expected {} inputs ({}), got {}", expected, because, came);
}

}  // namespace

Made make_yolo(const Section& section, Assembly& net) {
  const Yolo op{.boxes = boxes_of(section), .classes = section.number("classes", 20)};
  if (!section.flag("new_coords")) return detector(op, net);
  // The convolution before has done the squashing; the layer only compares with the truth.
  const TensorId x = net.as_image(net.previous());
  const std::int64_t channels = checked_mul(op.boxes, op.classes + 5);
  if (net.builder().extent(x, 1) != channels) {
    fail(ErrorKind::input, "{} boxes of 5 + {} classes need {} channels, got {}", op.boxes,
         op.classes, channels, net.builder().extent(x, 1));
  }
  return {net.builder().add(net.numbered("yolo"), Unary{UnaryKind::identity}, {x})};
}

// Each of the four coordinates has a mean and a deviation; all but the means of width and height
// are squashed: 7 + classes of 9 + classes numbers, which is a yolo layer of 4 more classes.
Made make_gaussian_yolo(const Section& section, Assembly& net) {
  return detector({.boxes = boxes_of(section), .classes = section.number("classes", 20) + 4}, net);
}

Made make_region(const Section& section, Assembly& net) {
  const std::int64_t coordinates = section.number("coords", 4);
  const Yolo op{.boxes = section.number("num", 1),
                .classes = section.number("classes", 20) + coordinates - 4};
  if (section.flag("softmax") || section.has("tree")) {
    net.note(WarningCode::value_assumed,
             "the softmax over the classes of [region] is counted as one logistic per class");
  }
  return detector(op, net);
}

Made make_detection(const Section& section, Assembly& net) {
  const std::int64_t side = section.number("side", 7);
  const std::int64_t boxes = section.number("num", 1);
  const std::int64_t coordinates = section.number("coords", 1);
  const std::int64_t classes = section.number("classes", 1);
  const std::int64_t per_cell = checked_add(checked_mul(boxes, coordinates + 1), classes);
  expect_features(checked_mul(side, side, per_cell),
                  fmt::format("{0}×{0} cells of {1} boxes and {2} classes", side, boxes, classes),
                  net);
  const Unary unchanged{UnaryKind::identity};
  return {net.builder().add(net.numbered("detection"), unchanged, {net.previous()})};
}

Made make_softmax(const Section& section, Assembly& net) {
  GraphBuilder& builder = net.builder();
  const std::string name = net.numbered("softmax");
  TensorId x = net.previous();
  if (section.has("tree")) {
    net.note(WarningCode::value_assumed,
             "the tree of classes is in another file: counted as one softmax over all of them");
  }
  if (section.real("spatial", 0) != 0) {
    return {builder.add(name, Softmax{.axis = 1}, {net.as_image(x)})};
  }
  if (net.axes(x) == 4) x = net.as_rows(x);
  const std::int64_t groups = section.number("groups", 1);
  if (groups == 1) return {builder.add(name, Softmax{}, {x})};
  const std::int64_t inputs = net.features(x);
  if (groups < 1 || inputs % groups != 0) {
    fail(ErrorKind::input, "key 'groups': {} does not divide {} inputs", groups, inputs);
  }
  x = net.as_rows(x);
  const Shape flat = net.type(x).shape;
  x = builder.add(net.numbered("groups"), Reshape{{flat[0], groups, inputs / groups}}, {x});
  x = builder.add(name, Softmax{}, {x});
  return {builder.add(net.numbered("ungroup"), Reshape{flat}, {x})};
}

Made make_logistic(const Section&, Assembly& net) {
  return {net.activated_by("logistic", net.previous())};
}

// The truth comes from outside and has the shape of the prediction.
Made make_cost(const Section& section, Assembly& net) {
  const std::string_view type = section.word("type", "sse");
  if (type != "sse" && type != "masked") {
    net.note(WarningCode::value_assumed,
             fmt::format("cost of type {} is counted as squared error", network::in_quotes(type)));
  }
  const TensorId prediction = net.previous();
  const TensorId truth = net.builder().input(net.numbered("truth"), net.type(prediction).shape);
  return {net.builder().add(net.numbered("cost"), SquaredError{}, {prediction, truth})};
}

// A loss over pairs of boxes, as many as the truth of each image has: nothing a file could tell.
Made make_contrastive(const Section&, Assembly& net) {
  net.note(WarningCode::operator_not_counted, "the loss of section [contrastive] is not counted");
  const TensorId x = net.previous();
  const Opaque op{"darknet.contrastive", {net.type(x).shape}};
  return {net.builder().add(net.numbered("contrastive"), op, {x})};
}

}  // namespace strata::darknet
