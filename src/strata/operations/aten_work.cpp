// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/aten_work.hpp"

#include "strata/base/error.hpp"
#include "strata/operations/aten_shapes.hpp"
#include "strata/operations/aten_table.hpp"

#include <algorithm>

namespace strata {
namespace {

struct Work {
  Count flop, mac;

  void multiply_add(Count count) {
    mac += count;
    flop += count * 2;
  }
};

void add_convolution_backward(Work& work, const AtenConvolution& convolution) {
  if (convolution.wants_input) work.multiply_add(convolution.mac());
  if (convolution.wants_weight) work.multiply_add(convolution.mac());
  if (convolution.has_bias) work.flop += convolution.result_elements;
}

/// Attention is counted as docs/costs.md has it: backward makes the scores again.
void add_attention(Work& work, const AtenAttention& attention, bool is_backward) {
  const Count pairs = attention.pairs(), width = attention.width, values = attention.value_width;
  const std::int64_t masked = attention.has_mask ? 1 : 0;
  if (is_backward) {
    work.multiply_add(pairs * (width * 3 + values * 2));
    work.flop += pairs * (6 + masked) + Count(attention.rows()) * values * 2;
  } else {
    work.multiply_add(pairs * (width + values));
    work.flop += pairs * (5 + masked) + Count(attention.rows()) * (values + 2);
  }
}

void add_recurrent(Work& work, const AtenRecurrent& recurrent, bool is_backward) {
  const Count cells =
      Count(recurrent.samples) * recurrent.time_steps * recurrent.layers * recurrent.directions;
  const Count units = cells * recurrent.hidden;
  const Count biases = units * recurrent.gates() * 2;
  const bool is_lstm = recurrent.cell == AtenCell::lstm, is_gru = recurrent.cell == AtenCell::gru;
  work.multiply_add(Count(recurrent.mac()) * (is_backward ? 2 : 1));
  const std::int64_t forward = is_lstm ? 15 : is_gru ? 13 : 1;
  const std::int64_t backward = is_lstm ? 23 : is_gru ? 16 : 3;
  work.flop += biases + units * (is_backward ? backward + 1 : forward);
}

/// Weights of a fused layer of a transformer: matrices that its inputs are multiplied with.
void add_encoder(Work& work, const AtenShapes& shapes) {
  const RecordedTensor* x = shapes.first_input();
  if (x == nullptr || x->axes() != 3) return;
  const Count words = Count(x->shape[0]) * x->shape[1];
  for (std::size_t i = 1; i < shapes.operation().inputs.size(); ++i) {
    const RecordedTensor* weight = shapes.input(i);
    if (weight != nullptr && weight->axes() == 2) work.multiply_add(words * weight->elements);
  }
  work.multiply_add(words * x->shape[1] * x->shape[2] * 2);
}

void add(Work& work, const AtenFlop& flop, const AtenShapes& shapes) {
  switch (flop.form) {
    case AtenForm::of_class: {
      if (!shapes.holds(flop.when)) return;
      const Count count = flop.is_window ? shapes.window() : static_cast<std::int64_t>(flop.count);
      work.flop += count * shapes.elements(flop.of);
      return;
    }
    case AtenForm::product: {
      const AtenProduct product = shapes.product();
      work.multiply_add(Count(product.batch) * product.m * product.n * product.k);
      if (product.has_bias) work.flop += Count(product.batch) * product.m * product.n;
      return;
    }
    case AtenForm::grouped: {
      const AtenProduct product = shapes.grouped_product();
      work.multiply_add(Count(product.m) * product.n * product.k);
      return;
    }
    case AtenForm::convolution: {
      const AtenConvolution convolution = shapes.convolution();
      work.multiply_add(convolution.mac());
      if (convolution.has_bias) work.flop += convolution.result_elements;
      return;
    }
    case AtenForm::convolution_backward:
      return add_convolution_backward(work, shapes.convolution());
    case AtenForm::attention: return add_attention(work, shapes.attention(), false);
    case AtenForm::attention_backward: return add_attention(work, shapes.attention(), true);
    case AtenForm::recurrent: return add_recurrent(work, shapes.recurrent(), false);
    case AtenForm::recurrent_backward: return add_recurrent(work, shapes.recurrent(), true);
    case AtenForm::encoder: return add_encoder(work, shapes);
    default: return;
  }
}

/// cuDNN's workspace of a recurrent layer: a copy of the weights, 32 MiB for its products, and some
/// numbers per hidden unit and step; so PyTorch's allocator showed it on an H200 (two batches each
/// of an LSTM and a GRU, fp32 and bf16).
std::int64_t recurrent_scratch(const AtenShapes& shapes, const RecordedOperations& recording) {
  constexpr std::int64_t products_bytes = std::int64_t{32} << 20;
  const AtenRecurrent recurrent = shapes.recurrent();
  const Count units = Count(recurrent.samples) * recurrent.time_steps * recurrent.layers *
                      recurrent.directions * recurrent.hidden;
  const std::int64_t numbers_per_unit = recurrent.cell == AtenCell::gru ? 4 : 2;
  Count bytes = units * numbers_per_unit * bytes_per_element(shapes.precision()) + products_bytes;
  if (shapes.operation().inputs.size() > 1) {
    for (const std::uint32_t weight : shapes.operation().inputs[1])
      bytes += recording.tensors[weight].bytes();
  }
  return bytes.value();
}

}  // namespace

void count_work(RecordedOperations& recording) {
  for (RecordedOperation& operation : recording.operations) {
    const AtenRule* rule = aten_rule(operation.name);
    operation.is_known = rule != nullptr;
    if (rule == nullptr) continue;
    operation.kind = rule->kind;
    operation.unread = rule->unread;
    operation.launches = !rule->is_view && !rule->is_allocation;
    try {
      const AtenShapes shapes(recording, operation);
      Work work;
      for (const AtenFlop& flop : rule->flop) add(work, flop, shapes);
      operation.flop = work.flop.value();
      operation.mac = work.mac.value();
    } catch (Error& error) {
      error.add_context(operation.name);
      throw;
    }
  }
}

std::int64_t scratch_bytes(const RecordedOperations& recording,
                           const RecordedOperation& operation) {
  const AtenRule* rule = aten_rule(operation.name);
  if (rule == nullptr || rule->launches.empty()) return 0;
  const AtenShapes shapes(recording, operation);
  switch (rule->launches.front().form) {
    case AtenForm::recurrent:
    case AtenForm::recurrent_backward: return recurrent_scratch(shapes, recording);
    default: return 0;
  }
}

}  // namespace strata
