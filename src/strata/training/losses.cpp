// SPDX-License-Identifier: Apache-2.0
#include "strata/training/losses.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr StepOperand network_output{Operand::input, 0};
constexpr StepOperand targets{Operand::input, 1};

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

Losses::Losses(ProgramBuilder& builder) : builder_(builder) {
  const Graph& graph = builder_.graph;
  std::vector<TensorId> outputs;
  for (const TensorId output : graph.outputs) {
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end())
      outputs.push_back(output);
  }
  const Loss loss = builder_.options.loss;
  is_softmax_ = loss == Loss::automatic;
  for (const TensorId output : outputs) {
    const BoundTensor& tensor = builder_.bound.tensors[output];
    Term term{.output = output};
    term.has_loss = builder_.mode == Mode::training && loss != Loss::none &&
                    tensor.wants_gradient && !is_made_by_loss(graph, output) &&
                    (loss == Loss::squared_error || outputs.size() == 1);
    term.samples = tensor.elements / classes_of(tensor);
    terms_.push_back(term);
  }
}

ValueId Losses::add(ValueKind kind, const Term& term, std::uint32_t part, std::int64_t bytes) {
  const BoundTensor& output = builder_.bound.tensors[term.output];
  const std::int64_t rows = output.bytes / row_bytes(output, {}, false, output.bytes);
  return builder_.writer.add({.kind = kind,
                              .tensor = term.output,
                              .part = part,
                              .bytes = bytes,
                              .row_bytes = std::max<std::int64_t>(bytes / rows, 1)});
}

void Losses::forward() {
  for (Term& term : terms_) {
    if (term.has_loss) {
      forward(term);
    } else if (builder_.mode == Mode::inference || is_made_by_loss(builder_.graph, term.output)) {
      const ValueIds ids = builder_.values.of(term.output);
      for (std::uint32_t i = 0; i < ids.count; ++i) builder_.writer.value(ids[i]).is_result = true;
    }
  }
}

// FLOP as the cost sheets of the two losses have them (cost/ops/reduce.cpp); here the gradient of
// the loss itself is 1 and needs no memory.
void Losses::forward(Term& term) {
  const BoundTensor& output = builder_.bound.tensors[term.output];
  const Count elements = output.elements;
  ProgramWriter& writer = builder_.writer;
  // A label per sample, or a number for every number.
  const std::int64_t label_bytes = (Count(term.samples) * bytes_per_element(DType::int64)).value();
  term.targets = add(ValueKind::input, term, 0, is_softmax_ ? label_bytes : output.bytes);
  writer.value(term.targets).is_given = true;
  const ValueId loss = add(ValueKind::feature, term, 1, bytes_per_element(output.dtype));
  writer.value(loss).is_result = true;
  if (is_softmax_) term.probabilities = add(ValueKind::saved, term, 0, output.bytes);

  writer.begin({.pass = Pass::forward, .layer_class = LayerClass::pointwise});
  const ValueIds ids = builder_.values.of(term.output);
  for (std::uint32_t i = 0; i < ids.count; ++i) writer.reads(ids[i], network_output);
  writer.reads(term.targets, targets);
  writer.writes(loss, {Operand::output, 0});
  if (is_softmax_) writer.writes(*term.probabilities, {Operand::saved, 0});
  const Count flop = is_softmax_ ? elements * 5 + Count(term.samples) * 3 + 1 : elements * 3 + 1;
  writer.add_work(flop.value(), 0);
}

Pass Losses::backward_pass() const {
  return builder_.options.separate_backward ? Pass::backward_input : Pass::backward;
}

void Losses::backward() {
  for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
    if (builder_.bound.tensors[term->output].wants_gradient) backward(*term);
  }
}

void Losses::backward(const Term& term) {
  ProgramWriter& writer = builder_.writer;
  const ValueIds ids = builder_.values.of(term.output);
  if (!term.has_loss) {
    for (std::uint32_t i = 0; i < ids.count; ++i) {
      const ValueId given = builder_.gradients.make(ids[i]);
      writer.value(given).is_given = true;
      writer.value(given).kind = ValueKind::gradient;  // of a weight too: nobody adds to it
      builder_.gradients.contribute(ids[i], given, 0);
    }
    return;
  }
  writer.begin({.pass = backward_pass(), .layer_class = LayerClass::pointwise});
  writer.reads(term.targets, targets);
  if (is_softmax_) {
    writer.reads(*term.probabilities, {Operand::saved, 0});
  } else {
    for (std::uint32_t i = 0; i < ids.count; ++i) writer.reads(ids[i], network_output);
  }
  const Count elements = builder_.bound.tensors[term.output].elements;
  const Count flop = is_softmax_ ? elements + Count(term.samples) + 1 : elements * 2 + 2;
  writer.add_work(flop.value(), 0);
  builder_.gradients.write(ids, {Operand::input_gradient, 0});
  builder_.gradients.settle(0);
}

}  // namespace strata
