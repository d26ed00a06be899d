// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <array>

// Quantised networks stand for floating-point ones: a value that is quantised and dequantised again
// is that value, a dequantised weight is the weight.
namespace strata::onnx {
namespace {

void lower_quantise(OpContext& context) {
  if (const Constant* const given = context.constant(0)) {
    Constant weight = *given;
    weight.type.dtype = DType::int8;
    weight.numbers.reset();
    weight.data = nullptr;
    context.set(0, std::move(weight));
    return;
  }
  const DraftId x = context.tensor(0);
  const DraftId y = context.add(Cast{DType::int8}, {x});
  context.session().quantised_from[y] = x;
  context.set(0, y);
}

void lower_dequantise(OpContext& context) {
  const DType dtype = is_floating(context.dtype(1)) ? context.dtype(1) : DType::fp32;
  if (const Constant* const given = context.constant(0)) {
    Constant weight = *given;
    weight.type.dtype = dtype;
    weight.is_learnt = true;
    weight.numbers.reset();
    weight.data = nullptr;
    context.set(0, std::move(weight));
    return;
  }
  const DraftId x = context.tensor(0);
  const auto pair = context.session().quantised_from.find(x);
  if (pair != context.session().quantised_from.end()) {
    ++context.session().quantisations;
    context.set(0, pair->second);
    return;
  }
  context.set(0, context.add(Cast{dtype}, {x}));
}

// Scale and zero point are found from the data: its least and largest number.
void lower_dynamic_quantise(OpContext& context) {
  const DraftId x = context.tensor(0);
  context.set(0, context.add(Cast{DType::int8}, {x}));
  context.set(1, Constant{.type = {{}, DType::fp32}});
  context.set(2, Constant{.type = {{}, DType::int8}});
}

// A, its scale and zero point, B, its scale and zero point, …
template <ElementwiseKind kind>
void lower_quantised_pair(OpContext& context) {
  context.set(0, context.add(Elementwise{kind}, {context.tensor(0), context.tensor(3)}));
}

template <UnaryKind kind>
void lower_quantised_unary(OpContext& context) {
  context.set(0, context.add(Unary{kind}, {context.tensor(0)}));
}

// Scale and zero point of the result, then data, scale and zero point of each part.
void lower_quantised_concat(OpContext& context) {
  std::vector<DraftId> parts;
  for (std::size_t i = 2; i < context.input_count(); i += 3) parts.push_back(context.tensor(i));
  if (parts.empty()) fail(ErrorKind::input, "nothing to join");
  context.set(0, context.add(Concat{context.integer("axis", 1)}, parts));
}

constexpr std::array quantization_rows = {
    OpRow{"DequantizeLinear", lower_dequantise},
    OpRow{"DynamicQuantizeLinear", lower_dynamic_quantise},
    OpRow{"QLinearAdd", lower_quantised_pair<ElementwiseKind::add>},
    OpRow{"QLinearConcat", lower_quantised_concat},
    OpRow{"QLinearLeakyRelu", lower_quantised_unary<UnaryKind::leaky_relu>},
    OpRow{"QLinearMul", lower_quantised_pair<ElementwiseKind::multiply>},
    OpRow{"QLinearSigmoid", lower_quantised_unary<UnaryKind::sigmoid>},
    OpRow{"QuantizeLinear", lower_quantise},
};

}  // namespace

std::span<const OpRow> quantization_ops() { return quantization_rows; }

}  // namespace strata::onnx
