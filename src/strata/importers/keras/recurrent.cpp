// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::keras {
namespace {

/// How a recurrent layer is asked to answer.
struct Answer {
  bool sequences = false;
  bool states = false;
};

Answer answer_of(const Config& config) {
  return {config.truth({"return_sequences"}, false), config.truth({"return_state"}, false)};
}

Recurrent lstm(const Config& config) {
  return {.cell = CellKind::lstm,
          .hidden = config.whole({"units", "output_dim"}),
          .biases = config.truth({"use_bias"}, true) ? 1 : 0};
}

// With reset_after (the default since Keras 2.2 with TensorFlow 2, always written) input and state
// have biases of their own.
Recurrent gru(const Config& config) {
  const std::int64_t biases = config.truth({"reset_after"}, false) ? 2 : 1;
  return {.cell = CellKind::gru,
          .hidden = config.whole({"units", "output_dim"}),
          .biases = config.truth({"use_bias"}, true) ? biases : 0};
}

Recurrent simple_rnn(const Config& config) {
  const Json* activation = config.find({"activation"});
  const bool is_rectifier = activation != nullptr && *activation == "relu";
  return {.cell = is_rectifier ? CellKind::rnn_relu : CellKind::rnn_tanh,
          .hidden = config.whole({"units", "output_dim"}),
          .biases = config.truth({"use_bias"}, true) ? 1 : 0};
}

// cuDNN's own layers have two biases per gate.
Recurrent with_two_biases(Recurrent op) {
  op.biases = 2;
  return op;
}

std::optional<Recurrent> cell_named(std::string_view class_name, const Config& config) {
  if (class_name == "LSTM" || class_name == "LSTMCell") return lstm(config);
  if (class_name == "GRU" || class_name == "GRUCell") return gru(config);
  if (class_name == "SimpleRNN" || class_name == "SimpleRNNCell") return simple_rnn(config);
  if (class_name == "CuDNNLSTM") return with_two_biases(lstm(config));
  if (class_name == "CuDNNGRU") return with_two_biases(gru(config));
  return std::nullopt;
}

// Input dropout is a layer of its own here; what is dropped inside the steps has no place in a
// packed node.
Value dropped(LayerCall& call, const Config& config, Value x) {
  if (config.number({"recurrent_dropout", "dropout_U"}, 0) > 0) {
    call.note(WarningCode::part_ignored,
              "dropout between the steps of a recurrent layer is left out");
  }
  const double rate = config.number({"dropout", "dropout_W"}, 0);
  if (rate <= 0) return x;
  return {call.add(Dropout{.probability = rate}, {x.id}, "dropout"), 0};
}

Value sequence_input(LayerCall& call, const Config& config) {
  const Value x = call.plain(call.input());
  if (call.rank(x) != 3) {
    fail(ErrorKind::input, "expected an input of 3 axes (batch, time, features), got {}",
         call.net.text(call.shape(x)));
  }
  return dropped(call, config, x);
}

// Initial states follow the input, or are named.
Values initial_states(const LayerCall& call) {
  if (const Given* states = call.named("initial_state")) return states->values;
  if (call.inputs.size() < 2) return {};
  return {call.inputs.begin() + 1, call.inputs.end()};
}

/// Runs one packed node and gives its output and last states as Keras shapes them.
struct Run {
  LayerCall& call;
  Recurrent op;
  Value x;
  std::string suffix;
  NodeId node = no_node;

  std::int64_t directions() const { return op.bidirectional ? 2 : 1; }
  std::size_t state_count() const { return op.cell == CellKind::lstm ? 2 : 1; }
  Dim batch() const { return call.shape(x)[0]; }

  void start(const Values& states) {
    const std::size_t expected = state_count() * static_cast<std::size_t>(directions());
    if (!states.empty() && states.size() != expected) {
      fail(ErrorKind::input, "expected {} initial states, got {}", expected, states.size());
    }
    std::vector<TensorId> operands = {x.id};
    for (std::size_t i = 0; !states.empty() && i < state_count(); ++i) {
      std::vector<TensorId> parts;
      for (std::size_t direction = 0; direction < static_cast<std::size_t>(directions());
           ++direction) {
        const Value state = states[direction * state_count() + i];
        parts.push_back(call.add(Reshape{{1, batch(), op.hidden}}, {state.id}, "initial_state"));
      }
      operands.push_back(parts.size() == 1 ? parts.front()
                                           : call.add(Concat{.axis = 0}, parts, "initial_states"));
    }
    node = call.add_node(op, operands, suffix);
  }

  Value sequence() const { return {call.net.builder().output_of(node, 0), 0}; }

  /// The last state [directions, N, width] without its first axis.
  Value last(std::size_t state = 0) const {
    const TensorId packed = call.net.builder().output_of(node, 1 + state);
    return {call.add(Reshape{{batch(), op.hidden}}, {packed}, "last"), 0};
  }
};

Values answers(Run& run, Answer answer) {
  Values result = {answer.sequences ? run.sequence() : run.last()};
  if (answer.states) {
    for (std::size_t state = 0; state < run.state_count(); ++state) {
      const bool is_there = state == 0 && !answer.sequences;
      result.push_back(is_there ? result.front() : run.last(state));
    }
  }
  return result;
}

Values make_recurrent(LayerCall& call, const Recurrent& op) {
  Run run{call, op, sequence_input(call, call.config), {}};
  run.start(initial_states(call));
  return answers(run, answer_of(call.config));
}

std::vector<const Json*> cells_of(const Config& config) {
  const Json* cell = config.find({"cell"});
  if (cell == nullptr) fail(ErrorKind::input, "expected an object for 'cell', got nothing");
  const Json* stacked = cell;
  if (const Json* type = member(*cell, "class_name"); type && *type == "StackedRNNCells") {
    const Json* inside = member(*cell, "config");
    stacked = inside == nullptr ? nullptr : member(*inside, "cells");
  }
  std::vector<const Json*> cells;
  if (stacked != nullptr && stacked->is_array()) {
    for (const Json& item : *stacked) cells.push_back(&item);
  } else {
    cells.push_back(cell);
  }
  if (cells.empty()) fail(ErrorKind::input, "'cell' is an empty list");
  return cells;
}

Recurrent cell_in(const Json& entry) {
  const Json* type = member(entry, "class_name");
  const Json* config = member(entry, "config");
  if (type == nullptr || !type->is_string() || config == nullptr) {
    fail_expected("an object with 'class_name' and 'config'", "cell", entry);
  }
  const auto& name = type->get_ref<const std::string&>();
  const std::optional<Recurrent> op = cell_named(name, Config(*config));
  if (!op) {
    fail(ErrorKind::unsupported,
         "a recurrent layer of {}: its cell is code that the file does not hold",
         network::in_quotes(name));
  }
  return *op;
}

// ---- both directions ----------------------------------------------------------------------------

Value merged_sequence(LayerCall& call, const Run& run, std::string_view mode) {
  const Value both = run.sequence();
  if (mode == "concat") return both;
  const NodeId halves = call.add_node(Split{.axis = 2, .parts = 2}, {{both.id}}, "directions");
  const ElementwiseKind kind = mode == "mul"   ? ElementwiseKind::multiply
                               : mode == "ave" ? ElementwiseKind::mean
                                               : ElementwiseKind::add;
  const GraphBuilder& builder = call.net.builder();
  const TensorId first = builder.output_of(halves, 0);
  const TensorId second = builder.output_of(halves, 1);
  return {call.add(Elementwise{kind}, {first, second}, std::string(mode)), 0};
}

Value merged_last(LayerCall& call, const Run& run, std::string_view mode) {
  const TensorId packed = call.net.builder().output_of(run.node, 1);  // [2, N, width]
  if (mode == "concat") {
    const TensorId swapped = call.add(Transpose{{1, 0, 2}}, {packed}, "last");
    return {call.add(Flatten{}, {swapped}, "concat"), 0};
  }
  const ReduceKind kind = mode == "mul"   ? ReduceKind::product
                          : mode == "ave" ? ReduceKind::mean
                                          : ReduceKind::sum;
  return {call.add(Reduce{.kind = kind, .axes = {0}}, {packed}, std::string(mode)), 0};
}

void add_both(LayerCall& call, const Run& run, std::size_t output, Values& result) {
  const TensorId packed = call.net.builder().output_of(run.node, output);
  const NodeId halves = call.add_node(Split{.axis = 0, .parts = 2}, {{packed}}, "states");
  for (const std::size_t direction : {std::size_t{0}, std::size_t{1}}) {
    const TensorId half = call.net.builder().output_of(halves, direction);
    result.push_back({call.add(Reshape{{run.batch(), run.op.hidden}}, {half}, "state"), 0});
  }
}

}  // namespace

Values make_lstm(LayerCall& call) { return make_recurrent(call, lstm(call.config)); }
Values make_gru(LayerCall& call) { return make_recurrent(call, gru(call.config)); }
Values make_simple_rnn(LayerCall& call) { return make_recurrent(call, simple_rnn(call.config)); }
Values make_cudnn_lstm(LayerCall& call) {
  return make_recurrent(call, with_two_biases(lstm(call.config)));
}
Values make_cudnn_gru(LayerCall& call) {
  return make_recurrent(call, with_two_biases(gru(call.config)));
}

// One cell, or several on top of each other; only the last answers.
Values make_rnn(LayerCall& call) {
  const std::vector<const Json*> cells = cells_of(call.config);
  if (cells.size() == 1) return make_recurrent(call, cell_in(*cells.front()));
  const Answer answer = answer_of(call.config);
  if (answer.states || call.inputs.size() > 1 || call.named("initial_state") != nullptr) {
    fail(ErrorKind::unsupported, "states of stacked cells as inputs or outputs");
  }
  Value x = call.plain(call.input());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Run run{call, cell_in(*cells[i]), x, fmt::format("cell_{}", i)};
    run.start({});
    if (i + 1 == cells.size()) return answers(run, answer);
    x = run.sequence();
  }
  return {x};
}

Values make_bidirectional(LayerCall& call) {
  if (call.layer.inner == nullptr) {
    fail(ErrorKind::input, "expected an object for 'layer', got nothing");
  }
  const Layer& inner = *call.layer.inner;
  const Config config(*inner.config);
  std::optional<Recurrent> op = cell_named(inner.class_name, config);
  if (!op && inner.class_name == "RNN" && cells_of(config).size() == 1) {
    op = cell_in(*cells_of(config).front());
  }
  if (!op) {
    fail(ErrorKind::unsupported, "both directions of {}", network::in_quotes(inner.class_name));
  }
  op->bidirectional = true;
  const bool stays_apart =
      call.config.object().contains("merge_mode") && call.config.find({"merge_mode"}) == nullptr;
  const std::string mode = call.config.word({"merge_mode"}, "concat");
  const Answer answer = answer_of(config);
  Run run{call, *op, sequence_input(call, config), {}};
  run.start(initial_states(call));
  Values result;
  if (!stays_apart) {
    result.push_back(answer.sequences ? merged_sequence(call, run, mode)
                                      : merged_last(call, run, mode));
  } else if (!answer.sequences) {
    add_both(call, run, 1, result);
  } else {
    const NodeId halves =
        call.add_node(Split{.axis = 2, .parts = 2}, {{run.sequence().id}}, "directions");
    result = {{call.net.builder().output_of(halves, 0), 0},
              {call.net.builder().output_of(halves, 1), 0}};
  }
  if (!answer.states) return result;
  Values states;
  for (std::size_t state = 0; state < run.state_count(); ++state) {
    add_both(call, run, 1 + state, states);
  }
  // Keras gives the states of one direction after those of the other.
  for (const std::size_t direction : {std::size_t{0}, std::size_t{1}}) {
    for (std::size_t state = 0; state < run.state_count(); ++state) {
      result.push_back(states[2 * state + direction]);
    }
  }
  return result;
}

}  // namespace strata::keras
