// SPDX-License-Identifier: Apache-2.0
// Activations, arithmetic of elements, sums and means.
#include "strata/base/error.hpp"
#include "strata/importers/torch_export/op_call.hpp"

#include <algorithm>
#include <array>

namespace strata::torch_export {
namespace {

/// Operators of one tensor that ONNX has under a name of its own.
struct UnaryName {
  std::string_view aten;
  std::string_view onnx;
};
constexpr UnaryName unary_names[] = {{"relu", "Relu"},
                                     {"sigmoid", "Sigmoid"},
                                     {"tanh", "Tanh"},
                                     {"exp", "Exp"},
                                     {"log", "Log"},
                                     {"sqrt", "Sqrt"},
                                     {"erf", "Erf"},
                                     {"neg", "Neg"},
                                     {"abs", "Abs"},
                                     {"sin", "Sin"},
                                     {"cos", "Cos"},
                                     {"floor", "Floor"},
                                     {"ceil", "Ceil"},
                                     {"round", "Round"},
                                     {"reciprocal", "Reciprocal"},
                                     {"hardswish", "HardSwish"},
                                     {"hardsigmoid", "HardSigmoid"},
                                     {"leaky_relu", "LeakyRelu"},
                                     {"elu", "Elu"},
                                     {"selu", "Selu"},
                                     {"softplus", "Softplus"},
                                     {"mish", "Mish"},
                                     {"sign", "Sign"},
                                     {"logical_not", "Not"},
                                     {"silu", "Swish"}};

/// "relu" of "aten.relu_.default".
std::string_view bare_name(std::string_view target) {
  target.remove_prefix(std::min(target.find('.') + 1, target.size()));
  target = target.substr(0, target.find('.'));
  if (target.ends_with('_') && !target.starts_with("__")) target.remove_suffix(1);
  return target;
}

void translate_unary(OpCall& call) {
  const std::string_view name = bare_name(call.target());
  for (const UnaryName& row : unary_names)
    if (row.aten == name) return call.add(row.onnx, {call.tensor("self")});
  fail(ErrorKind::internal, "no row for {}", call.target());
}

void translate_gelu(OpCall& call) {
  call.add("Gelu", {call.tensor("self")}, {{"approximate", call.word("approximate", "none")}});
}

void translate_clip(OpCall& call) {
  const std::int64_t type = call.type_of(call.output());
  const bool is_hardtanh =
      call.has("min_val") || call.target().find("hardtanh") != std::string::npos;
  const double low = is_hardtanh ? call.real("min_val", -1) : call.real("min", 0);
  const double high = is_hardtanh ? call.real("max_val", 1) : call.real("max", 6);
  const bool has_low = is_hardtanh || call.has("min") || call.target().starts_with("aten.relu6");
  const bool has_high = is_hardtanh || call.has("max") || call.target().starts_with("aten.relu6");
  call.add("Clip", {call.tensor("self"), has_low ? call.scalar(low, type) : "",
                    has_high ? call.scalar(high, type) : ""});
}

void translate_rsqrt(OpCall& call) {
  call.add("Reciprocal", {call.add_inner("Sqrt", {call.tensor("self")})});
}

template <const char* op>
void translate_binary(OpCall& call) {
  call.add(op, {call.operand("self"), call.operand("other")});
}

void translate_power(OpCall& call) {
  call.add("Pow", {call.operand("self"), call.operand("exponent")});
}

void translate_where(OpCall& call) {
  call.add("Where", {call.tensor("condition"), call.operand("self"), call.operand("other")});
}

void translate_masked_fill(OpCall& call) {
  const std::string number = call.operand("value");
  call.add("Where", {call.tensor("mask"), number, call.tensor("self")});
}

/// A file of model.eval() says what would be dropped, too: the network is the same.
void translate_dropout(OpCall& call) {
  const std::string from = call.tensor("input");
  const double probability = call.real("p", 0.5);
  if (!(probability > 0)) return call.add("Identity", {from});
  constexpr std::int64_t fp32 = 1;
  call.add("Dropout", {from, call.scalar(probability, fp32)});
}

template <const char* op>
void translate_softmax(OpCall& call) {
  const auto last = static_cast<std::int64_t>(call.axis("dim", call.rank(call.value("self")), -1));
  call.add(op, {call.tensor("self")}, {{"axis", last}});
}

template <const char* op>
void translate_reduce(OpCall& call) {
  const Integers axes = call.integers("dim");
  std::vector<std::string> inputs = {call.tensor("self")};
  if (!axes.empty()) inputs.push_back(call.constant(axes));
  call.add(op, std::move(inputs), {{"keepdims", std::int64_t{call.flag("keepdim", false)}}});
}

constexpr char add_op[] = "Add", sub_op[] = "Sub", mul_op[] = "Mul", div_op[] = "Div",
               max_op[] = "Max", min_op[] = "Min", equal_op[] = "Equal", less_op[] = "Less",
               greater_op[] = "Greater", and_op[] = "And", or_op[] = "Or", softmax_op[] = "Softmax",
               log_softmax_op[] = "LogSoftmax", mean_op[] = "ReduceMean", sum_op[] = "ReduceSum",
               amax_op[] = "ReduceMax", amin_op[] = "ReduceMin";

constexpr std::array pointwise_table = {
    AtenRow{"aten.relu", translate_unary},
    AtenRow{"aten.sigmoid", translate_unary},
    AtenRow{"aten.tanh", translate_unary},
    AtenRow{"aten.exp", translate_unary},
    AtenRow{"aten.log", translate_unary},
    AtenRow{"aten.sqrt", translate_unary},
    AtenRow{"aten.erf", translate_unary},
    AtenRow{"aten.neg", translate_unary},
    AtenRow{"aten.abs", translate_unary},
    AtenRow{"aten.sin", translate_unary},
    AtenRow{"aten.cos", translate_unary},
    AtenRow{"aten.floor", translate_unary},
    AtenRow{"aten.ceil", translate_unary},
    AtenRow{"aten.round", translate_unary},
    AtenRow{"aten.reciprocal", translate_unary},
    AtenRow{"aten.hardswish", translate_unary},
    AtenRow{"aten.hardsigmoid", translate_unary},
    AtenRow{"aten.leaky_relu", translate_unary},
    AtenRow{"aten.elu", translate_unary},
    AtenRow{"aten.selu", translate_unary},
    AtenRow{"aten.softplus", translate_unary},
    AtenRow{"aten.mish", translate_unary},
    AtenRow{"aten.sign", translate_unary},
    AtenRow{"aten.logical_not", translate_unary},
    AtenRow{"aten.silu", translate_unary},
    AtenRow{"aten.gelu", translate_gelu},
    AtenRow{"aten.hardtanh", translate_clip},
    AtenRow{"aten.relu6", translate_clip},
    AtenRow{"aten.clamp", translate_clip},
    AtenRow{"aten.clamp_min", translate_clip},
    AtenRow{"aten.rsqrt", translate_rsqrt},
    AtenRow{"aten.add", translate_binary<add_op>},
    AtenRow{"aten.sub", translate_binary<sub_op>},
    AtenRow{"aten.rsub", translate_binary<sub_op>},
    AtenRow{"aten.mul", translate_binary<mul_op>},
    AtenRow{"aten.div", translate_binary<div_op>},
    AtenRow{"aten.maximum", translate_binary<max_op>},
    AtenRow{"aten.minimum", translate_binary<min_op>},
    AtenRow{"aten.eq", translate_binary<equal_op>},
    AtenRow{"aten.ne", translate_binary<equal_op>},
    AtenRow{"aten.lt", translate_binary<less_op>},
    AtenRow{"aten.le", translate_binary<less_op>},
    AtenRow{"aten.gt", translate_binary<greater_op>},
    AtenRow{"aten.ge", translate_binary<greater_op>},
    AtenRow{"aten.__and__", translate_binary<and_op>},
    AtenRow{"aten.logical_and", translate_binary<and_op>},
    AtenRow{"aten.logical_or", translate_binary<or_op>},
    AtenRow{"aten.pow", translate_power},
    AtenRow{"aten.where", translate_where},
    AtenRow{"aten.masked_fill", translate_masked_fill},
    AtenRow{"aten.dropout", translate_dropout},
    AtenRow{"aten.native_dropout", translate_dropout},
    AtenRow{"aten.feature_dropout", translate_dropout},
    AtenRow{"aten.softmax", translate_softmax<softmax_op>},
    AtenRow{"aten._softmax", translate_softmax<softmax_op>},
    AtenRow{"aten.log_softmax", translate_softmax<log_softmax_op>},
    AtenRow{"aten._log_softmax", translate_softmax<log_softmax_op>},
    AtenRow{"aten.mean", translate_reduce<mean_op>},
    AtenRow{"aten.sum", translate_reduce<sum_op>},
    AtenRow{"aten.amax", translate_reduce<amax_op>},
    AtenRow{"aten.amin", translate_reduce<amin_op>},
};

}  // namespace

std::span<const AtenRow> pointwise_rows() { return pointwise_table; }

}  // namespace strata::torch_export
