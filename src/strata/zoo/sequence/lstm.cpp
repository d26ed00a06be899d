// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

namespace strata {
namespace {

// Batch and sequence length, which the paper sweeps too, are extents of the graph and given when it
// is bound.
constexpr std::array lstm_parameters{
    NetworkParameter{"features", "32", "numbers per time step of the input"},
    NetworkParameter{"hidden", "16", "width of the layer"},
};

Graph build_lstm(const NetworkArguments& arguments) {
  SequenceBuilder b("lstm", 16, 16);
  const TensorId x = b.features("input", arguments.number("features"));
  b.output(b.recurrent("lstm", x, Recurrent{.hidden = arguments.number("hidden")}));
  return std::move(b).finish();
}

constexpr std::array lstm_stack_parameters{
    NetworkParameter{"layers", "4", "LSTM layers, one node each"},
    NetworkParameter{"hidden", "1024", "width of every layer"},
    NetworkParameter{"features", "1024", "numbers per time step of the input"},
    NetworkParameter{"classes", "0", "width of a linear layer on top; 0 for none"},
    order_parameter("layer"),
};

Graph build_lstm_stack(const NetworkArguments& arguments) {
  SequenceBuilder b("lstm_stack", 32, 50);
  b.graph().recurrent_order = order_argument(arguments);
  const Recurrent layer{.hidden = arguments.number("hidden")};
  TensorId x = b.features("input", arguments.number("features"));
  const std::int64_t layers = layers_argument(arguments);
  for (std::int64_t i = 0; i < layers; ++i) {
    x = b.recurrent("lstm." + std::to_string(i), x, layer);
  }
  const std::int64_t classes = arguments.number("classes", 0);
  if (classes > 0) x = b.linear("classifier", x, classes);
  b.output(x);
  return std::move(b).finish();
}

}  // namespace

constinit const Network lstm_network{
    .name = "lstm",
    .title = "LSTM reference kernel",
    .source =
        "Wang et al., Time-Based Roofline for Deep Learning Performance Analysis, 2020: batch 16, "
        "sequence 16, features 32, hidden 16",
    .parameters = lstm_parameters,
    .build = build_lstm,
};

constinit const Network lstm_stack_network{
    .name = "lstm_stack",
    .title = "LSTM stack",
    .source =
        "torch.nn.LSTM with four layers of width 1024 (two bias vectors per gate), one node per "
        "layer",
    .parameters = lstm_stack_parameters,
    .build = build_lstm_stack,
};

}  // namespace strata
