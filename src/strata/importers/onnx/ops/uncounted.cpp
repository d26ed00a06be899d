// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <fmt/format.h>

#include <array>

// Operators whose shapes are known and whose arithmetic is not counted, and those that make no
// network.
namespace strata::onnx {
namespace {

std::string full_name(OpContext& context) {
  const std::string op = printable(context.op().substr(0, 100));
  if (context.domain().empty()) return op;
  return fmt::format("{}.{}", printable(context.domain().substr(0, 100)), op);
}

void lower_same_shape(OpContext& context) { set_uncounted(context, {context.type(0)}); }

void lower_arg(OpContext& context) {
  const Shape& x = context.shape(0);
  const std::size_t axis = normal_axis(context.integer("axis", 0), x.size());
  const bool keeps = context.integer("keepdims", 1) != 0;
  Shape y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i != axis) y.push_back(x[i]);
    if (i == axis && keeps) y.push_back(1);
  }
  set_uncounted(context, {{y, DType::int64}});
}

void lower_top_k(OpContext& context) {
  Shape y = context.shape(0);
  const std::size_t axis = normal_axis(context.integer("axis", -1), y.size());
  const std::vector<Dim> k =
      context.has(1) ? context.dims(1, "k") : std::vector<Dim>{context.integer("k", 1)};  // opset 1
  if (k.size() != 1) fail(ErrorKind::input, "k must be one number, got {}", k.size());
  y[axis] = k.front();
  set_uncounted(context, {{y, context.dtype(0)}, {y, DType::int64}});
}

void lower_one_hot(OpContext& context) {
  const std::vector<Dim> depth = context.dims(1, "the depth");
  if (depth.size() != 1) fail(ErrorKind::input, "the depth must be one number");
  const Shape& x = context.shape(0);
  if (x.size() >= most_axes) fail(ErrorKind::unsupported, "a tensor with {} axes", x.size() + 1);
  const std::size_t axis = normal_axis(context.integer("axis", -1), x.size() + 1);
  Shape y;
  for (std::size_t i = 0; i <= x.size(); ++i) {
    y.push_back(i < axis ? x[i] : i == axis ? depth.front() : x[i - 1]);
  }
  set_uncounted(context, {{y, context.dtype(2)}});
}

void lower_roi_align(OpContext& context) {
  const Shape& x = context.shape(0);
  const Shape& regions = context.shape(1);
  if (x.size() != 4 || regions.empty())
    fail(ErrorKind::input, "expected a 4-axis input and regions");
  const Shape y = {regions[0], x[1], context.integer("output_height", 1),
                   context.integer("output_width", 1)};
  set_uncounted(context, {{y, context.dtype(0)}});
}

// ---- refused ------------------------------------------------------------------------------------

[[noreturn]] void refuse_control_flow(OpContext& context) {
  fail(ErrorKind::unsupported,
       "{} chooses or repeats part of the network while it runs, so its cost is not one number; "
       "export the network unrolled, or traced with fixed inputs",
       context.op());
}

[[noreturn]] void refuse_generation(OpContext& context) {
  fail(ErrorKind::unsupported,
       "{} runs a network in a loop that generates text, as long as the text lasts; export the "
       "network inside it on its own",
       context.op());
}

[[noreturn]] void refuse_optimizer(OpContext& context) {
  fail(ErrorKind::unsupported,
       "{} is a step of training, not a layer; Strata adds the backward pass and the update to the "
       "network itself",
       context.op());
}

[[noreturn]] void refuse_sequence(OpContext& context) {
  fail(ErrorKind::unsupported, "{} works on sequences of tensors, which Strata does not have",
       context.op());
}

constexpr std::string_view preview = "ai.onnx.preview.training";

constexpr std::array refused_rows = {
    OpRow{"If", refuse_control_flow},
    OpRow{"Loop", refuse_control_flow},
    OpRow{"Scan", refuse_control_flow},
    OpRow{"SequenceMap", refuse_control_flow},
    OpRow{"BeamSearch", refuse_generation},
    OpRow{"WhisperBeamSearch", refuse_generation},
    OpRow{"GreedySearch", refuse_generation},
    OpRow{"Sampling", refuse_generation},
    OpRow{"Adam", refuse_optimizer, preview},
    OpRow{"Adagrad", refuse_optimizer, preview},
    OpRow{"Momentum", refuse_optimizer, preview},
    OpRow{"Gradient", refuse_optimizer, preview},
    OpRow{"SequenceAt", refuse_sequence},
    OpRow{"SequenceConstruct", refuse_sequence},
    OpRow{"SequenceEmpty", refuse_sequence},
    OpRow{"SequenceErase", refuse_sequence},
    OpRow{"SequenceInsert", refuse_sequence},
    OpRow{"SequenceLength", refuse_sequence},
    OpRow{"SplitToSequence", refuse_sequence},
    OpRow{"ConcatFromSequence", refuse_sequence},
    OpRow{"Optional", refuse_sequence},
    OpRow{"OptionalGetElement", refuse_sequence},
    OpRow{"OptionalHasElement", refuse_sequence},
};

constexpr std::array uncounted_rows = {
    OpRow{"Acos", lower_same_shape},
    OpRow{"Acosh", lower_same_shape},
    OpRow{"Asin", lower_same_shape},
    OpRow{"Asinh", lower_same_shape},
    OpRow{"Atan", lower_same_shape},
    OpRow{"Atanh", lower_same_shape},
    OpRow{"Bernoulli", lower_same_shape},
    OpRow{"BitShift", lower_same_shape},
    OpRow{"BitwiseAnd", lower_same_shape},
    OpRow{"BitwiseNot", lower_same_shape},
    OpRow{"BitwiseOr", lower_same_shape},
    OpRow{"BitwiseXor", lower_same_shape},
    OpRow{"Cosh", lower_same_shape},
    OpRow{"CumSum", lower_same_shape},
    OpRow{"Hardmax", lower_same_shape},
    OpRow{"RandomNormalLike", lower_same_shape},
    OpRow{"RandomUniformLike", lower_same_shape},
    OpRow{"ReverseSequence", lower_same_shape},
    OpRow{"Scatter", lower_same_shape},
    OpRow{"ScatterElements", lower_same_shape},
    OpRow{"ScatterND", lower_same_shape},
    OpRow{"Shrink", lower_same_shape},
    OpRow{"Sinh", lower_same_shape},
    OpRow{"Tan", lower_same_shape},
    OpRow{"ArgMax", lower_arg},
    OpRow{"ArgMin", lower_arg},
    OpRow{"OneHot", lower_one_hot},
    OpRow{"RoiAlign", lower_roi_align},
    OpRow{"TopK", lower_top_k},
};

}  // namespace

void set_uncounted(OpContext& context, std::span<const TensorType> types) {
  const std::string name = full_name(context);
  if (context.session().options.strict) {
    fail(ErrorKind::unsupported, "Strata does not know the operator {}", name);
  }
  std::vector<DraftId> inputs;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (context.has(i)) inputs.push_back(context.tensor(i));
  }
  Opaque op{name, {}};
  for (const TensorType& type : types) {
    expect_not_empty(type.shape, context.symbols());
    op.shapes.push_back(type.shape);
  }
  const std::vector<DraftId> outputs = context.add_all(std::move(op), inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    // An opaque node's results have the type of its first input; indices of numbers do not.
    const bool changes_type =
        is_floating(context.draft().type(outputs[i]).dtype) != is_floating(types[i].dtype);
    const DraftId result = changes_type && context.wants(i)
                               ? context.add(Cast{types[i].dtype}, {outputs[i]}, {}, "cast")
                               : outputs[i];
    context.set(i, result);
  }
  Session::Uncounted& entry = context.session().uncounted[name];
  if (entry.count++ == 0) entry.first_node = context.place();
}

void set_uncounted(OpContext& context, std::initializer_list<TensorType> types) {
  set_uncounted(context, std::span(types.begin(), types.size()));
}

void lower_unknown(OpContext& context) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    if (const std::optional<TensorType> declared = context.declared_type(i)) {
      types.push_back(*declared);
      continue;
    }
    if (context.wants(i) && i == 0 && context.has(0)) {
      context.warn(WarningCode::value_assumed,
                   fmt::format("{}: the file does not say the shape of its result; that of its "
                               "first input is assumed",
                               context.place()));
      types.push_back(context.type(0));
      continue;
    }
    break;  // further outputs without a shape are by-products, unless somebody reads them
  }
  if (types.empty()) {
    fail(ErrorKind::unsupported,
         "Strata does not know the operator {}, and the file does not say the shape of its result",
         full_name(context));
  }
  set_uncounted(context, types);
}

std::span<const OpRow> refused_ops() { return refused_rows; }
std::span<const OpRow> uncounted_ops() { return uncounted_rows; }

}  // namespace strata::onnx
