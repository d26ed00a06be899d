// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/darknet/sections.hpp"

#include <array>

namespace strata::darknet {
namespace {

// "pad=1" asks for half the window, "padding=2" for two pixels; the first wins.
std::int64_t padding(const Section& section, std::int64_t size) {
  return section.flag("pad") ? size / 2 : section.number("padding", 0);
}

// Batch normalisation brings the bias with it: darknet's biases are then its shift.
bool has_norm(const Section& section) {
  return section.flag("batch_normalize") || section.flag("cbn");
}

Convolution convolution_of(const Section& section) {
  const std::int64_t size = section.number("size", 1);
  const std::int64_t dilation = size == 1 ? 1 : section.number("dilation", 1);
  // A dilated window is padded in proportion, so that "pad=1" keeps the size (cuDNN descriptor and
  // im2col of AlexeyAB's convolutional_layer.c).
  const std::int64_t pad = checked_mul(padding(section, size), dilation);
  const bool is_blurred = section.flag("antialiasing");
  return {.channels = section.number("filters", 1),
          .kernel = {size, size},
          .stride = is_blurred ? Extents{1, 1} : strides(section),
          .dilation = {dilation, dilation},
          .pad_begin = {pad, pad},
          .pad_end = {pad, pad},
          .groups = section.number("groups", 1),
          .bias = !has_norm(section)};
}

void note_variants(const Section& section, Assembly& net) {
  if (section.flag("xnor") || section.flag("binary")) {
    net.note(WarningCode::value_assumed,
             "a binary convolution is counted in full precision, which is how darknet trains it");
  }
  for (const std::string_view key : {"sway", "rotate", "stretch", "stretch_sway"}) {
    if (!section.flag(key)) continue;
    net.note(WarningCode::operator_not_counted,
             "the turning of filters (sway, rotate, stretch) before a convolution is not counted");
  }
  if (section.number("stopbackward", 0) == 1) {
    net.note(WarningCode::part_ignored,
             "stopbackward=1 freezes everything before this section; Strata trains it as well");
  }
}

/// The own tensors of a node, to be used by another.
std::vector<TensorId> own_tensors(Assembly& net, NodeId node) {
  if (node == no_node) return {};
  const Node& owner = net.builder().graph().nodes[node];
  return {owner.inputs.begin() + owner.first_own, owner.inputs.end()};
}

// "share_index": all weights, and the statistics, are those of another convolution.
Made shared_weights(const Section& section, Assembly& net) {
  if (!section.has("share_index")) return {};
  const std::size_t owner = net.section_at("share_index", section.number("share_index", 0));
  const Made& made = net.made(owner);
  if (made.convolution == no_node || (made.norm != no_node) != has_norm(section)) {
    fail(ErrorKind::input,
         "key 'share_index': expected a convolution like this one, got section {}", owner);
  }
  return made;
}

}  // namespace

Extents strides(const Section& section) {
  const std::int64_t both = section.number("stride", 1);
  const std::int64_t y = section.number("stride_y", both);
  const std::int64_t x = section.number("stride_x", both);
  return {y < 1 ? both : y, x < 1 ? both : x};
}

TensorId blurred(const Section& section, Assembly& net, TensorId x) {
  const std::int64_t kind = section.number("antialiasing", 0);
  if (kind == 0) return x;
  const std::int64_t size = kind == 2 ? 2 : 3;
  const std::int64_t pad = kind == 2 ? 0 : 1;
  const std::int64_t channels = net.builder().extent(x, 1);
  const Convolution blur{.channels = channels,
                         .kernel = {size, size},
                         .stride = strides(section),
                         .pad_begin = {pad, pad},
                         .pad_end = {pad, pad},
                         .groups = channels,
                         .bias = false};
  const std::string name = net.numbered("blur");
  const TensorId filter =
      net.builder().stored(name + ".weight", {channels, 1, size, size}, TensorKind::constant);
  const NodeId node = net.builder().add_node(name, blur, std::array{x}, std::array{filter});
  return net.builder().output_of(node);
}

Made make_convolutional(const Section& section, Assembly& net) {
  GraphBuilder& builder = net.builder();
  note_variants(section, net);
  const Made owner = shared_weights(section, net);
  const TensorId x = net.as_image(net.previous());
  Made made;
  made.convolution = builder.add_node(net.numbered("conv"), convolution_of(section), std::array{x},
                                      own_tensors(net, owner.convolution));
  made.output = builder.output_of(made.convolution);
  if (has_norm(section)) {
    made.norm = builder.add_node(net.numbered("batch_norm"), BatchNorm{}, std::array{made.output},
                                 own_tensors(net, owner.norm));
    made.output = builder.output_of(made.norm);
  }
  made.output = blurred(section, net, net.activated(section, "logistic", made.output));
  return made;
}

Made make_deconvolutional(const Section& section, Assembly& net) {
  Convolution convolution = convolution_of(section);
  convolution.transposed = true;
  TensorId x = net.as_image(net.previous());
  x = net.builder().add(net.numbered("deconv"), convolution, {x});
  if (has_norm(section)) x = net.batch_norm(net.numbered("batch_norm"), x);
  return {net.activated(section, "logistic", x)};
}

Made make_connected(const Section& section, Assembly& net) {
  const Linear linear{.features = section.number("output", 1), .bias = !has_norm(section)};
  TensorId x = net.previous();
  // The product takes a sequence as it is; batch normalisation wants one row per time step.
  if (net.axes(x) == 4 || has_norm(section)) x = net.as_rows(x);
  x = net.builder().add(net.numbered("connected"), linear, {x});
  if (has_norm(section)) x = net.batch_norm(net.numbered("batch_norm"), x);
  return {net.activated(section, "logistic", x)};
}

Made make_batchnorm(const Section&, Assembly& net) {
  const TensorId x = net.previous();
  return {net.batch_norm(net.numbered("batch_norm"), net.axes(x) == 3 ? net.as_rows(x) : x)};
}

Made make_activation(const Section& section, Assembly& net) {
  return {net.activated(section, "linear", net.previous())};
}

}  // namespace strata::darknet
