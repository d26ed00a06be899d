// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/keras/operands.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace strata::keras {
namespace {

using Handler = Values (*)(LayerCall& call);

// ---- families -----------------------------------------------------------------------------------

Values apply_unary(LayerCall& call, UnaryKind kind) {
  const Value x = tensor_operand(call, 0, {"x", "inputs", "features", "input"});
  return {{call.add(Unary{kind}, {x.id}), x.channels_at}};
}

Values apply_binary(LayerCall& call, ElementwiseKind kind) {
  const Operand left = operand(call, 0, {"x1", "x"});
  const Operand right = operand(call, 1, {"x2", "y"});
  if (!left.tensor && !right.tensor) fail(ErrorKind::input, "expected a tensor, got constants");
  if (left.tensor && right.tensor) {
    const Value a = *left.tensor;
    const Value b = *right.tensor;
    const std::size_t rank = std::max(call.rank(a), call.rank(b));
    const std::size_t channels_at = call.rank(a) == rank ? a.channels_at : b.channels_at;
    const Value wide_a = with_leading_axes(call, a, rank, channels_at, "left");
    const Value wide_b = with_leading_axes(call, b, rank, channels_at, "right");
    return {{call.add(Elementwise{kind}, {wide_a.id, wide_b.id}), wide_a.channels_at}};
  }
  const Value x = left.tensor ? *left.tensor : *right.tensor;
  const Json* constant = left.tensor ? right.constant : left.constant;
  if (constant == nullptr) fail(ErrorKind::input, "expected two arguments, got one");
  const TensorId other = constant_tensor(call, x, *constant, "constant");
  const TensorId first = left.tensor ? x.id : other;
  const TensorId second = left.tensor ? other : x.id;
  return {{call.add(Elementwise{kind}, {first, second}), x.channels_at}};
}

Values apply_reduction(LayerCall& call, ReduceKind kind) {
  const Value x = tensor_operand(call, 0, {"x", "input_tensor", "input", "a"});
  const auto axes = numbers_operand(call, 1, {"axis", "reduction_indices", "axes"});
  const Operand keep = operand(call, 2, {"keepdims", "keep_dims"});
  Reduce op{.kind = kind, .keep_axes = keep.constant != nullptr && *keep.constant == true};
  const std::size_t rank = call.rank(x);
  std::array<bool, most_axes> is_reduced{};
  if (!axes) is_reduced.fill(true);
  for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>())) {
    is_reduced[call.axis_of(x, axis)] = true;
  }
  std::size_t kept = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (is_reduced[axis]) {
      op.axes.push_back(static_cast<std::int64_t>(stored_axis(axis, rank, x.channels_at)));
    } else {
      ++kept;
    }
  }
  const bool keeps_layout = op.keep_axes || (!is_reduced[rank - 1] && !is_reduced[0] && kept > 2);
  return {{call.add(op, {x.id}), keeps_layout ? x.channels_at : 0}};
}

template <UnaryKind kind>
Values unary(LayerCall& call) {
  return apply_unary(call, kind);
}
template <ElementwiseKind kind>
Values binary(LayerCall& call) {
  return apply_binary(call, kind);
}
template <ReduceKind kind>
Values reduction(LayerCall& call) {
  return apply_reduction(call, kind);
}

// ---- single operations --------------------------------------------------------------------------

Values unchanged(LayerCall& call) {
  return {call.unchanged(tensor_operand(call, 0, {"x", "input", "value"}))};
}

Values softmax(LayerCall& call) {
  const Value x = tensor_operand(call, 0, {"x", "logits"});
  const auto axis = numbers_operand(call, 1, {"axis"});
  const std::int64_t along = axis && axis->size() == 1 ? axis->front() : -1;
  return {{call.add(Softmax{.axis = call.stored_axis_of(x, along)}, {x.id}), x.channels_at}};
}

Values reshape(LayerCall& call) {
  const Value x = tensor_operand(call, 0, {"x", "tensor"});
  const auto shape = numbers_operand(call, 1, {"newshape", "shape", "new_shape"});
  if (!shape || shape->empty()) fail(ErrorKind::input, "expected a shape");
  const Shape from = call.shape(x);
  Shape target;
  for (std::size_t axis = 1; axis < shape->size(); ++axis) {
    const std::int64_t extent = (*shape)[axis];
    if (extent == 0 || extent < -1) {
      fail(ErrorKind::input, "extents must be at least 1 or -1, got {}", extent);
    }
    target.push_back(extent);
  }
  const std::int64_t batch = shape->front();
  const bool keeps_batch = batch == -1 || (from[0].is_number() && from[0].factor == batch);
  if (!keeps_batch || std::count(shape->begin() + 1, shape->end(), -1) > 1) {
    fail(ErrorKind::unsupported, "a reshape that fixes or mixes the batch");
  }
  return {reshaped(call, x, target)};
}

Values transpose(LayerCall& call) {
  const Value x = tensor_operand(call, 0, {"x", "a"});
  const auto axes = numbers_operand(call, 1, {"axes", "perm"});
  const std::size_t rank = call.rank(x);
  if (!axes || axes->size() != rank) fail(ErrorKind::unsupported, "a transposition without axes");
  std::array<bool, most_axes> is_taken{};
  Axes order;
  for (const std::int64_t axis : *axes) {
    const std::size_t place = call.axis_of(x, axis);
    if (is_taken[place]) fail(ErrorKind::input, "axis {} is named twice", axis);
    is_taken[place] = true;
    order.push_back(static_cast<std::int64_t>(place));
  }
  return {permuted(call, x, order)};
}

Values concatenate(LayerCall& call) {
  const auto axis = numbers_operand(call, 1, {"axis"});
  Values parts = call.inputs;
  for (const char* name : {"xs", "values"}) {
    if (const Given* given = call.named(name)) parts = given->values;
  }
  return {joined(call, parts, axis && axis->size() == 1 ? axis->front() : -1)};
}

Values expand_dims(LayerCall& call) {
  const Value x = call.plain(tensor_operand(call, 0, {"x", "input"}));
  const auto axis = numbers_operand(call, 1, {"axis"});
  if (!axis || axis->size() != 1) fail(ErrorKind::unsupported, "new axes in several places");
  const Shape from = call.shape(x);
  const std::size_t place = normal_axis(axis->front(), from.size() + 1);
  Shape to;
  for (std::size_t i = 0; i <= from.size(); ++i) {
    if (i == place) to.push_back(1);
    if (i < from.size()) to.push_back(from[i]);
  }
  return {{call.add(Reshape{to}, {x.id}), 0}};
}

Values squeeze(LayerCall& call) {
  const Value x = call.plain(tensor_operand(call, 0, {"x", "input"}));
  const auto axes = numbers_operand(call, 1, {"axis", "squeeze_dims"});
  const Shape from = call.shape(x);
  std::array<bool, most_axes> is_gone{};
  for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>())) {
    is_gone[call.axis_of(x, axis)] = true;
  }
  Shape to;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const bool goes = axes ? is_gone[axis] : from[axis].is(1);
    if (goes && !from[axis].is(1)) fail(ErrorKind::input, "axis {} is not of extent 1", axis);
    if (!goes) to.push_back(from[axis]);
  }
  return {{call.add(Reshape{to}, {x.id}), 0}};
}

Values matmul(LayerCall& call) {
  const Value a = call.plain(tensor_operand(call, 0, {"x1", "a", "x"}));
  const Value b = call.plain(tensor_operand(call, 1, {"x2", "b", "y"}));
  const auto is_true = [&](Names names) {
    const Operand flag = operand(call, 2, names);
    return flag.constant != nullptr && *flag.constant == true;
  };
  const MatMul op{.transpose_a = is_true({"transpose_a", "adj_x"}),
                  .transpose_b = is_true({"transpose_b", "adj_y"})};
  return {{call.add(op, {a.id, b.id}), 0}};
}

Values space_to_depth(LayerCall& call) {
  const Value x = call.image(tensor_operand(call, 0, {"input"}));
  const auto block = numbers_operand(call, 1, {"block_size"});
  const SpaceToDepth op{.block = block && block->size() == 1 ? block->front() : 2};
  return {{call.add(op, {x.id}), x.channels_at}};
}

// ---- names --------------------------------------------------------------------------------------

struct Operation {
  std::string_view name;  // lower case, without underscores
  Handler apply;
};

constexpr auto operations = std::to_array<Operation>({
    {"add", binary<ElementwiseKind::add>},
    {"addv2", binary<ElementwiseKind::add>},
    {"subtract", binary<ElementwiseKind::subtract>},
    {"sub", binary<ElementwiseKind::subtract>},
    {"multiply", binary<ElementwiseKind::multiply>},
    {"mul", binary<ElementwiseKind::multiply>},
    {"divide", binary<ElementwiseKind::divide>},
    {"truedivide", binary<ElementwiseKind::divide>},
    {"truediv", binary<ElementwiseKind::divide>},
    {"realdiv", binary<ElementwiseKind::divide>},
    {"power", binary<ElementwiseKind::power>},
    {"pow", binary<ElementwiseKind::power>},
    {"maximum", binary<ElementwiseKind::maximum>},
    {"minimum", binary<ElementwiseKind::minimum>},
    {"relu", unary<UnaryKind::relu>},
    {"relu6", unary<UnaryKind::relu6>},
    {"leakyrelu", unary<UnaryKind::leaky_relu>},
    {"elu", unary<UnaryKind::elu>},
    {"selu", unary<UnaryKind::selu>},
    {"gelu", unary<UnaryKind::gelu>},
    {"silu", unary<UnaryKind::silu>},
    {"swish", unary<UnaryKind::silu>},
    {"hardsilu", unary<UnaryKind::hard_swish>},
    {"hardswish", unary<UnaryKind::hard_swish>},
    {"sigmoid", unary<UnaryKind::sigmoid>},
    {"hardsigmoid", unary<UnaryKind::hard_sigmoid>},
    {"tanh", unary<UnaryKind::tanh>},
    {"softplus", unary<UnaryKind::softplus>},
    {"softsign", unary<UnaryKind::softsign>},
    {"mish", unary<UnaryKind::mish>},
    {"exp", unary<UnaryKind::exponential>},
    {"log", unary<UnaryKind::logarithm>},
    {"sqrt", unary<UnaryKind::square_root>},
    {"square", unary<UnaryKind::square>},
    {"abs", unary<UnaryKind::absolute>},
    {"absolute", unary<UnaryKind::absolute>},
    {"negative", unary<UnaryKind::negate>},
    {"neg", unary<UnaryKind::negate>},
    {"reciprocal", unary<UnaryKind::reciprocal>},
    {"erf", unary<UnaryKind::error_function>},
    {"sin", unary<UnaryKind::sine>},
    {"cos", unary<UnaryKind::cosine>},
    {"floor", unary<UnaryKind::floor>},
    {"ceil", unary<UnaryKind::ceiling>},
    {"round", unary<UnaryKind::round>},
    {"sign", unary<UnaryKind::sign>},
    {"clip", unary<UnaryKind::clip>},
    {"clipbyvalue", unary<UnaryKind::clip>},
    {"mean", reduction<ReduceKind::mean>},
    {"reducemean", reduction<ReduceKind::mean>},
    {"sum", reduction<ReduceKind::sum>},
    {"reducesum", reduction<ReduceKind::sum>},
    {"max", reduction<ReduceKind::maximum>},
    {"reducemax", reduction<ReduceKind::maximum>},
    {"amax", reduction<ReduceKind::maximum>},
    {"min", reduction<ReduceKind::minimum>},
    {"reducemin", reduction<ReduceKind::minimum>},
    {"prod", reduction<ReduceKind::product>},
    {"identity", unchanged},
    {"stopgradient", unchanged},
    {"converttotensor", unchanged},
    {"softmax", softmax},
    {"reshape", reshape},
    {"transpose", transpose},
    {"concatenate", concatenate},
    {"concat", concatenate},
    {"expanddims", expand_dims},
    {"squeeze", squeeze},
    {"matmul", matmul},
    {"batchmatmulv2", matmul},
    {"spacetodepth", space_to_depth},
});

Values apply_named(LayerCall& call, std::string_view full_name) {
  const std::size_t dot = full_name.rfind('.');
  std::string name = lower_case(full_name.substr(dot == std::string_view::npos ? 0 : dot + 1));
  std::erase(name, '_');
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [&](const Operation& known) { return known.name == name; });
  if (found == operations.end()) return make_opaque(call);
  return found->apply(call);
}

}  // namespace

Values make_tf_operation(LayerCall& call) {
  return apply_named(call, call.config.word({"function"}, ""));
}

Values make_tf_graph_operation(LayerCall& call) {
  const Json* node = call.config.find({"node_def"});
  const Json* op = node == nullptr ? nullptr : member(*node, "op");
  if (op == nullptr || !op->is_string()) return make_opaque(call);
  return apply_named(call, word_in(*op, "op"));
}

bool is_operation(const Layer& layer) {
  const Json* module = member(*layer.entry, "module");
  if (module == nullptr || !module->is_string()) return false;
  const auto& name = module->get_ref<const std::string&>();
  return name.starts_with("keras.src.ops") || name.starts_with("keras.ops");
}

Values make_keras_operation(LayerCall& call) { return apply_named(call, call.layer.class_name); }

}  // namespace strata::keras
