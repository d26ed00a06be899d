// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace strata::onnx {
namespace {

template <UnaryKind kind>
void lower_unary(OpContext& context) {
  context.set(0, context.add(Unary{kind}, {context.tensor(0)}));
}

// Before opset 7 the second operand was placed at an axis by an attribute.
DraftId placed_operand(OpContext& context) {
  const DraftId b = context.tensor(1);
  const std::int64_t axis = context.integer("axis", -1);
  const Shape& shape = context.shape(1);
  const bool is_old = context.opset() > 0 && context.opset() < 7;
  if (!is_old || context.integer("broadcast", 0) == 0 || axis < 0) return b;
  Shape placed = shape;
  while (placed.size() + static_cast<std::size_t>(axis) < context.rank(0)) placed.push_back(1);
  return context.reshaped(b, placed);
}

// Positions compared with positions, one per row and one per column: who may see whom.
bool compares_positions(const Draft& draft, std::span<const DraftId> operands) {
  bool has_rows = false;
  bool has_columns = false;
  for (const DraftId id : operands) {
    const DraftTensor& tensor = draft.tensors[id];
    const Shape& shape = tensor.type.shape;
    const bool is_known = tensor.is_fixed || tensor.kind == TensorKind::constant;
    if (!is_known || is_floating(tensor.type.dtype) || shape.empty()) return false;
    const bool is_column = shape.back().is(1);
    has_columns = has_columns || is_column;
    has_rows = has_rows || (!is_column && (shape.size() == 1 || shape[shape.size() - 2].is(1)));
  }
  return has_rows && has_columns;
}

template <ElementwiseKind kind>
void lower_comparison(OpContext& context) {
  const std::array operands = {context.tensor(0), context.tensor(1)};
  const DraftId y = context.add(Elementwise{kind}, operands);
  context.draft().tensors[y].is_causal_mask = compares_positions(context.draft(), operands);
  context.set(0, y);
}

template <ElementwiseKind kind>
void lower_elementwise(OpContext& context) {
  if (context.input_count() == 1) {  // Sum, Max, Min and Mean take any number
    context.pass_on(0, 0);
    return;
  }
  std::vector<DraftId> operands;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    operands.push_back(i == 1 ? placed_operand(context) : context.tensor(i));
  }
  context.set(0, context.add(Elementwise{kind}, operands));
}

void lower_power(OpContext& context) {
  const std::optional<double> exponent = context.scalar(1);
  if (exponent == 1.0) return context.pass_on(0, 0);
  if (exponent == 2.0) return lower_unary<UnaryKind::square>(context);
  if (exponent == 0.5) return lower_unary<UnaryKind::square_root>(context);
  if (exponent == -1.0) return lower_unary<UnaryKind::reciprocal>(context);
  lower_elementwise<ElementwiseKind::power>(context);
}

// x is NaN when it differs from itself; one comparison, whatever is asked.
void lower_self_comparison(OpContext& context) {
  const DraftId x = context.tensor(0);
  context.set(0, context.add(Elementwise{ElementwiseKind::equal}, {x, x}));
}

void lower_clip(OpContext& context) {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  constexpr double as_good_as_none = 3e38;
  const auto bound = [&](std::size_t input, std::string_view attribute, double otherwise) {
    if (context.has(input)) return context.scalar(input);
    return std::optional(context.real(attribute, otherwise));
  };
  const std::optional<double> least = bound(1, "min", -unbounded);
  const std::optional<double> most = bound(2, "max", unbounded);
  UnaryKind kind = UnaryKind::clip;
  if (least == 0.0 && most == 6.0) kind = UnaryKind::relu6;
  if (least == 0.0 && most && *most > as_good_as_none) kind = UnaryKind::relu;
  context.set(0, context.add(Unary{kind}, {context.tensor(0)}));
}

// max(x, 0) + slope·min(x, 0): slopes of any shape.
DraftId decomposed_prelu(OpContext& context) {
  const DraftId x = context.tensor(0);
  const DraftId zero = context.scalar_like(0, context.dtype(0));
  const DraftId positive = context.add(Unary{UnaryKind::relu}, {x}, {}, "positive");
  const DraftId negative =
      context.add(Elementwise{ElementwiseKind::minimum}, {x, zero}, {}, "negative");
  const DraftId scaled = context.add(Elementwise{ElementwiseKind::multiply},
                                     {negative, context.tensor(1)}, {}, "scale");
  return context.add(Elementwise{ElementwiseKind::add}, {positive, scaled});
}

void lower_prelu(OpContext& context) {
  const Shape& x = context.shape(0);
  const Dim slopes = elements_of(context.shape(1), context.symbols());
  const bool is_per_channel = x.size() >= 2 && slopes == x[1] && slopes.is_number() &&
                              is_vector(context.shape(1)) && context.is_constant(1);
  if (is_per_channel) {
    const DraftId weight = context.weight(1, {slopes}, "weight");
    context.set(0, context.add(Unary{UnaryKind::prelu}, {context.tensor(0)}, {weight}));
  } else {
    context.set(0, decomposed_prelu(context));
  }
}

void lower_gelu(OpContext& context) {
  const bool is_tanh = context.word("approximate", "none") == "tanh";
  context.set(
      0, context.add(Unary{is_tanh ? UnaryKind::gelu_tanh : UnaryKind::gelu}, {context.tensor(0)}));
}

DraftId with_bias(OpContext& context, std::size_t bias) {
  const DraftId x = context.tensor(0);
  if (!context.has(bias)) return x;
  return context.add(Elementwise{}, {x, context.tensor(bias)}, {}, "bias");
}

template <UnaryKind kind>
void lower_biased_unary(OpContext& context) {
  context.set(0, context.add(Unary{kind}, {with_bias(context, 1)}));
}

// x·sigmoid(α·x); with α = 1 that is SiLU.
void lower_quick_gelu(OpContext& context) {
  const double alpha = context.real("alpha", 1.702);
  const DraftId x = context.tensor(0);
  if (alpha == 1) return context.set(0, context.add(Unary{UnaryKind::silu}, {x}));
  const DraftId factor = context.scalar_like(alpha, context.dtype(0));
  const DraftId scaled =
      context.add(Elementwise{ElementwiseKind::multiply}, {x, factor}, {}, "scale");
  const DraftId gate = context.add(Unary{UnaryKind::sigmoid}, {scaled}, {}, "gate");
  context.set(0, context.add(Elementwise{ElementwiseKind::multiply}, {x, gate}));
}

// Until opset 12 all axes from the given one on were taken together.
template <bool is_log>
void lower_softmax(OpContext& context) {
  const DraftId x = context.tensor(0);
  const Shape shape = context.shape(0);
  const bool is_old = context.opset() > 0 && context.opset() < 13;
  const std::size_t axis = normal_axis(context.integer("axis", is_old ? 1 : -1), shape.size());
  bool takes_several = false;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) takes_several |= !shape[i].is(1);
  if (!is_old || !takes_several) {
    context.set(0, context.add(Softmax{static_cast<std::int64_t>(axis), is_log}, {x}));
    return;
  }
  const std::span<const Dim> extents = shape;
  Shape joined(extents.first(axis));
  joined.push_back(elements_of(Shape(extents.subspan(axis)), context.symbols()));
  const DraftId y = context.add(Softmax{-1, is_log}, {context.reshaped(x, joined, "join")});
  context.set(0, context.reshaped(y, shape, "split"));
}

void lower_dropout(OpContext& context) {
  double probability = context.real("ratio", 0.5);
  if (context.has(1)) probability = context.scalar(1).value_or(0.5);
  context.set(0, context.add(Dropout{probability}, {context.tensor(0)}));
}

void cast_to(OpContext& context, DType dtype) {
  if (context.dtype(0) == dtype) return context.pass_on(0, 0);
  context.set_moved(0, context.add(Cast{dtype}, {context.tensor(0)}));
}

void lower_cast(OpContext& context) {
  cast_to(context, known_dtype(static_cast<std::int32_t>(context.integer("to", 1))));
}

void lower_cast_like(OpContext& context) { cast_to(context, context.dtype(1)); }

void lower_identity(OpContext& context) { context.pass_on(0, 0); }

using E = ElementwiseKind;
using U = UnaryKind;

constexpr std::array pointwise_rows = {
    OpRow{"Abs", lower_unary<U::absolute>},
    OpRow{"Add", lower_elementwise<E::add>},
    OpRow{"And", lower_elementwise<E::logical_and>},
    OpRow{"BiasAdd", lower_elementwise<E::add>},
    OpRow{"BiasGelu", lower_biased_unary<U::gelu>},
    OpRow{"Cast", lower_cast},
    OpRow{"CastLike", lower_cast_like},
    OpRow{"Ceil", lower_unary<U::ceiling>},
    OpRow{"Celu", lower_unary<U::elu>},
    OpRow{"Clip", lower_clip},
    OpRow{"Cos", lower_unary<U::cosine>},
    OpRow{"Div", lower_elementwise<E::divide>},
    OpRow{"Dropout", lower_dropout},
    OpRow{"Elu", lower_unary<U::elu>},
    OpRow{"Equal", lower_elementwise<E::equal>},
    OpRow{"Erf", lower_unary<U::error_function>},
    OpRow{"Exp", lower_unary<U::exponential>},
    OpRow{"FastGelu", lower_biased_unary<U::gelu_tanh>},
    OpRow{"Floor", lower_unary<U::floor>},
    OpRow{"Gelu", lower_gelu},
    OpRow{"Greater", lower_comparison<E::greater>},
    OpRow{"GreaterOrEqual", lower_comparison<E::greater>},
    OpRow{"HardSigmoid", lower_unary<U::hard_sigmoid>},
    OpRow{"HardSwish", lower_unary<U::hard_swish>},
    OpRow{"Identity", lower_identity},
    OpRow{"IsInf", lower_self_comparison},
    OpRow{"IsNaN", lower_self_comparison},
    OpRow{"LeakyRelu", lower_unary<U::leaky_relu>},
    OpRow{"Less", lower_comparison<E::less>},
    OpRow{"LessOrEqual", lower_comparison<E::less>},
    OpRow{"Log", lower_unary<U::logarithm>},
    OpRow{"LogSoftmax", lower_softmax<true>},
    OpRow{"Max", lower_elementwise<E::maximum>},
    OpRow{"Mean", lower_elementwise<E::mean>},
    OpRow{"Min", lower_elementwise<E::minimum>},
    OpRow{"Mish", lower_unary<U::mish>},
    OpRow{"Mod", lower_elementwise<E::modulo>},
    OpRow{"Mul", lower_elementwise<E::multiply>},
    OpRow{"Neg", lower_unary<U::negate>},
    OpRow{"Not", lower_unary<U::logical_not>},
    OpRow{"Or", lower_elementwise<E::logical_or>},
    OpRow{"PRelu", lower_prelu},
    OpRow{"Pow", lower_power},
    OpRow{"QuickGelu", lower_quick_gelu},
    OpRow{"Reciprocal", lower_unary<U::reciprocal>},
    OpRow{"Relu", lower_unary<U::relu>},
    OpRow{"Round", lower_unary<U::round>},
    OpRow{"Selu", lower_unary<U::selu>},
    OpRow{"Sigmoid", lower_unary<U::sigmoid>},
    OpRow{"Sign", lower_unary<U::sign>},
    OpRow{"Sin", lower_unary<U::sine>},
    OpRow{"Softmax", lower_softmax<false>},
    OpRow{"Softplus", lower_unary<U::softplus>},
    OpRow{"Softsign", lower_unary<U::softsign>},
    OpRow{"Sqrt", lower_unary<U::square_root>},
    OpRow{"Sub", lower_elementwise<E::subtract>},
    OpRow{"Sum", lower_elementwise<E::add>},
    OpRow{"Swish", lower_unary<U::silu>},
    OpRow{"Tanh", lower_unary<U::tanh>},
    OpRow{"ThresholdedRelu", lower_unary<U::relu>},
    OpRow{"Where", lower_elementwise<E::select>},
    OpRow{"Xor", lower_elementwise<E::equal>},
};

}  // namespace

std::span<const OpRow> pointwise_ops() { return pointwise_rows; }

}  // namespace strata::onnx
