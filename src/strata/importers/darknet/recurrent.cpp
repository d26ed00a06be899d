// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/importers/darknet/sections.hpp"

#include <fmt/format.h>

namespace strata::darknet {
namespace {

// darknet builds its recurrent layers from connected ones: per gate one product with the input and
// one with the state, each with a bias of its own. That is Strata's packed node with two biases and
// gates apart. What batch_normalize=1 does between the products has no place in it.
TensorId packed(const Section& section, CellKind cell, std::int64_t hidden, Assembly& net) {
  const Recurrent op{.cell = cell, .hidden = hidden, .biases = 2, .fused_gates = false};
  if (section.flag("batch_normalize")) {
    net.note(
        WarningCode::operator_not_counted,
        fmt::format("batch normalisation inside a recurrent layer ([{}]) is not counted: after "
                    "each product, with one scale per output",
                    section.kind));
  }
  const TensorId x = net.as_sequence(net.previous());
  return net.builder().add(net.numbered(section.kind), op, {x});
}

/// What the three convolutions of a [crnn] have in common.
struct Cell {
  const Section& section;
  Assembly& net;

  TensorId convolution(std::string_view role, std::int64_t filters, TensorId x) const {
    const std::int64_t size = section.number("size", 3);
    const std::int64_t dilation = section.number("dilation", 1);
    const std::int64_t padding = section.flag("pad") ? size / 2 : section.number("padding", 0);
    const std::int64_t pad = checked_mul(padding, dilation);
    const std::int64_t stride = section.number("stride", 1);
    const bool has_norm = section.flag("batch_normalize");
    const Convolution op{.channels = filters,
                         .kernel = {size, size},
                         .stride = {stride, stride},
                         .dilation = {dilation, dilation},
                         .pad_begin = {pad, pad},
                         .pad_end = {pad, pad},
                         .groups = section.number("groups", 1),
                         .bias = !has_norm};
    x = net.builder().add(net.numbered(fmt::format("{}_conv", role)), op, {x});
    if (has_norm) x = net.batch_norm(net.numbered(fmt::format("{}_norm", role)), x);
    return net.activated(section, "logistic", x);
  }
};

}  // namespace

// state = f(A x) + f(B state), y = f(C state): the first two are a recurrent cell, the third a
// connected layer over all time steps.
Made make_rnn(const Section& section, Assembly& net) {
  const std::string_view word = section.word("activation", "logistic");
  const bool is_line = word != "tanh" && word != "logistic" && word != "loggy";
  TensorId x = packed(section, is_line ? CellKind::rnn_relu : CellKind::rnn_tanh,
                      section.number("hidden", 1), net);
  const bool has_norm = section.flag("batch_normalize");
  const Linear output{.features = section.number("output", 1), .bias = !has_norm};
  x = net.builder().add(net.numbered("output"), output, {x});
  if (has_norm) x = net.batch_norm(net.numbered("batch_norm"), net.as_rows(x));
  return {net.activated(section, "logistic", x)};
}

Made make_gru(const Section& section, Assembly& net) {
  return {packed(section, CellKind::gru, section.number("output", 1), net)};
}

Made make_lstm(const Section& section, Assembly& net) {
  return {packed(section, CellKind::lstm, section.number("output", 1), net)};
}

// The same with convolutions on images. Strata has no recurrent convolution: the one over the state
// covers all time steps at once, with the new part of the state in place of the whole, which
// has the same shape. Counts are exact; that steps wait for each other is lost.
Made make_crnn(const Section& section, Assembly& net) {
  const std::int64_t hidden = section.number("hidden", 1);
  net.note(WarningCode::value_assumed,
           "the steps of a convolutional recurrent layer ([crnn]) are taken to run at once");
  const Cell cell{section, net};
  const TensorId fresh = cell.convolution("input", hidden, net.as_image(net.previous()));
  const TensorId kept = cell.convolution("self", hidden, fresh);
  const TensorId state =
      net.builder().add(net.numbered("state"), Elementwise{ElementwiseKind::add}, {fresh, kept});
  return {cell.convolution("output", section.number("output", 1), state)};
}

Made make_conv_lstm(const Section& section, Assembly& net) {
  net.note(WarningCode::operator_not_counted, "section [conv_lstm] is not counted");
  const TensorId x = net.as_image(net.previous());
  Shape shape = net.type(x).shape;
  shape[1] = section.number("output", 1);
  return {net.builder().add(net.numbered("conv_lstm"), Opaque{"darknet.conv_lstm", {shape}}, {x})};
}

}  // namespace strata::darknet
