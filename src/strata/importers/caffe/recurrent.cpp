// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"

namespace strata::caffe {
namespace {

/// The layer's sequence and back. Caffe lays sequences out as time, batch, features; Strata's
/// recurrent node wants the batch first.
TensorId through(const Layer& layer, Net& net, const Recurrent& op) {
  const Message& parameters = layer.message->message("recurrent_param");
  if (parameters.flag("expose_hidden", false)) {
    fail(ErrorKind::unsupported, "field 'expose_hidden': states as blobs are not read");
  }
  TensorId x = net.bottom(layer, 0);
  if (net.axes(x) < 3) {
    fail(ErrorKind::input, "expected time, batch and features, got {}",
         text_of(net.shape(x), net.builder().symbols()));
  }
  net.swallow(layer);  // where sequences begin (the second bottom) costs one product per state
  if (net.axes(x) > 3) x = net.add_step(layer, "flatten", Flatten{.axis = 2}, {x});
  x = net.add_step(layer, "batch_first", Transpose{{1, 0, 2}}, {x});
  x = net.add(layer, op, {x});
  return net.add_step(layer, "time_first", Transpose{{1, 0, 2}}, {x});
}

std::int64_t outputs(const Layer& layer) {
  return layer.message->message("recurrent_param").number("num_output", 0);
}

}  // namespace

// One bias per gate, in the product with the input.
void add_lstm(const Layer& layer, Net& net) {
  if (layer.bottoms.size() > 2) {
    fail(ErrorKind::unsupported, "an LSTM with a static input ({} bottoms)", layer.bottoms.size());
  }
  const Recurrent op{.cell = CellKind::lstm, .hidden = outputs(layer), .biases = 1};
  net.set_top(layer, through(layer, net, op));
}

// h = tanh(W x + b + U h), y = tanh(V h + c).
void add_rnn(const Layer& layer, Net& net) {
  if (layer.bottoms.size() > 2 || !layer.parameter_names.empty()) {
    fail(ErrorKind::unsupported, "an RNN with a static input or shared weights");
  }
  const Recurrent op{.cell = CellKind::rnn_tanh, .hidden = outputs(layer), .biases = 1};
  TensorId y = through(layer, net, op);
  y = net.add_step(layer, "output", Linear{.features = outputs(layer)}, {y});
  net.set_top(layer, net.add_step(layer, "tanh", Unary{UnaryKind::tanh}, {y}));
}

}  // namespace strata::caffe
