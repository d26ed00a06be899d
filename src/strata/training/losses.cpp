// SPDX-License-Identifier: Apache-2.0
#include "strata/training/losses.hpp"

#include <algorithm>

namespace strata {
namespace {

bool is_loss(const Operator& op) {
  return std::holds_alternative<SoftmaxCrossEntropy>(op) ||
         std::holds_alternative<SquaredError>(op);
}

bool is_made_by_loss(const Graph& graph, TensorId tensor) {
  const NodeId producer = graph.tensors[tensor].producer;
  return producer != no_node && is_loss(graph.nodes[producer].op);
}

// Classes are channels where there is space behind them, and the last axis otherwise.
std::int64_t classes_of(const BoundTensor& output) {
  if (output.axes() == 0) return 1;
  return output.axes() >= 4 ? output[1] : output[output.axes() - 1];
}

}  // namespace

Losses::Losses(Workshop& workshop) : shop_(workshop) {
  const Graph& graph = shop_.graph;
  std::vector<TensorId> outputs;
  for (const TensorId output : graph.outputs) {
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end())
      outputs.push_back(output);
  }
  const Loss loss = shop_.options.loss;
  is_softmax_ = loss == Loss::automatic;
  for (const TensorId output : outputs) {
    const BoundTensor& tensor = shop_.bound.tensors[output];
    Term term{.output = output};
    term.has_loss = shop_.mode == Mode::training && loss != Loss::none && tensor.wants_gradient &&
                    !is_made_by_loss(graph, output) &&
                    (loss == Loss::squared_error || outputs.size() == 1);
    term.samples = tensor.elements / classes_of(tensor);
    terms_.push_back(term);
  }
}

ValueId Losses::add(ValueKind kind, const Term& term, std::uint32_t part, std::int64_t bytes) {
  const BoundTensor& output = shop_.bound.tensors[term.output];
  const std::int64_t rows = output.bytes / row_bytes(output, {}, false, output.bytes);
  return shop_.writer.add({.kind = kind,
                           .tensor = term.output,
                           .part = part,
                           .bytes = bytes,
                           .row_bytes = std::max<std::int64_t>(bytes / rows, 1)});
}

void Losses::forward() {
  for (Term& term : terms_) {
    if (term.has_loss) {
      forward(term);
    } else if (shop_.mode == Mode::inference || is_made_by_loss(shop_.graph, term.output)) {
      const ValueIds ids = shop_.values.of(term.output);
      for (std::uint32_t i = 0; i < ids.count; ++i) shop_.writer.value(ids[i]).is_result = true;
    }
  }
}

// FLOP as the cost sheets of the two losses have them (cost/ops/reduce.cpp); here the gradient of
// the loss itself is 1 and needs no memory.
void Losses::forward(Term& term) {
  const BoundTensor& output = shop_.bound.tensors[term.output];
  const Count elements = output.elements;
  ProgramWriter& writer = shop_.writer;
  // A label per sample, or a number for every number.
  const std::int64_t label_bytes = (Count(term.samples) * bytes_per_element(DType::int64)).value();
  term.targets = add(ValueKind::input, term, 0, is_softmax_ ? label_bytes : output.bytes);
  writer.value(term.targets).is_given = true;
  const ValueId loss = add(ValueKind::feature, term, 1, bytes_per_element(output.dtype));
  writer.value(loss).is_result = true;
  if (is_softmax_) term.probabilities = add(ValueKind::saved, term, 0, output.bytes);

  writer.begin({.pass = Pass::forward, .layer_class = LayerClass::type_2});
  const ValueIds ids = shop_.values.of(term.output);
  for (std::uint32_t i = 0; i < ids.count; ++i) writer.reads(ids[i]);
  writer.reads(term.targets);
  writer.writes(loss);
  if (is_softmax_) writer.writes(*term.probabilities);
  const Count flop = is_softmax_ ? elements * 5 + Count(term.samples) * 3 + 1 : elements * 3 + 1;
  writer.add_work(flop.value(), 0);
}

Pass Losses::backward_pass() const {
  return shop_.options.separate_backward ? Pass::backward_input : Pass::backward;
}

void Losses::backward() {
  for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
    if (shop_.bound.tensors[term->output].wants_gradient) backward(*term);
  }
}

void Losses::backward(const Term& term) {
  ProgramWriter& writer = shop_.writer;
  const ValueIds ids = shop_.values.of(term.output);
  if (!term.has_loss) {
    for (std::uint32_t i = 0; i < ids.count; ++i) {
      const ValueId given = shop_.gradients.make(ids[i]);
      writer.value(given).is_given = true;
      shop_.gradients.contribute(ids[i], given, 0);
    }
    return;
  }
  writer.begin({.pass = backward_pass(), .layer_class = LayerClass::type_2});
  writer.reads(term.targets);
  if (is_softmax_) {
    writer.reads(*term.probabilities);
  } else {
    for (std::uint32_t i = 0; i < ids.count; ++i) writer.reads(ids[i]);
  }
  const Count elements = shop_.bound.tensors[term.output].elements;
  const Count flop = is_softmax_ ? elements + Count(term.samples) + 1 : elements * 2 + 2;
  writer.add_work(flop.value(), 0);
  shop_.gradients.write(ids);
  shop_.gradients.settle(0);
}

}  // namespace strata
