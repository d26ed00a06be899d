// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/fold/fold.hpp"
#include "strata/importers/onnx/limits.hpp"
#include "strata/importers/onnx/tensor_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>

// Where known numbers come from: shapes, constants, ranges.
namespace strata::onnx {
namespace {

bool fold_shape(OpContext& context) {
  const Shape& shape = context.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clipped = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = clipped(context.integer("start", 0));
  const std::int64_t end = clipped(context.integer("end", rank));
  Numbers numbers;
  for (std::int64_t axis = begin; axis < end; ++axis) {
    numbers.emplace_back(shape[static_cast<std::size_t>(axis)]);
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  return set_known(context, 0, DType::int64, {count}, std::move(numbers));
}

bool fold_size(OpContext& context) {
  const Dim elements = elements_of(context.shape(0), context.symbols());
  return set_known(context, 0, DType::int64, {}, {elements});
}

bool set_tensor(OpContext& context, Bytes message) {
  TensorDef& tensor = context.session().attribute_tensors.emplace_back(parse_tensor(message));
  elements_of(tensor);  // refuses extents that make no sense
  Constant constant{.type = {{}, known_dtype(tensor.type)}, .data = &tensor};
  for (const std::int64_t extent : tensor.extents) constant.type.shape.push_back(extent);
  // PyTorch keeps parameters among the initializers; other exporters write some at a node.
  constant.is_learnt =
      is_floating(constant.type.dtype) && context.session().model.producer != "pytorch";
  context.set(0, std::move(constant));
  return true;
}

bool fold_constant(OpContext& context) {
  if (const std::optional<Bytes> tensor = context.tensor_attribute("value")) {
    return set_tensor(context, *tensor);
  }
  if (context.has_attribute("value_float")) {
    return set_known(context, 0, DType::fp32, {}, {Number::real(context.real("value_float", 0))});
  }
  if (context.has_attribute("value_int")) {
    return set_known(context, 0, DType::int64, {}, {Dim(context.integer("value_int", 0))});
  }
  Numbers numbers;
  DType dtype = DType::int64;
  if (context.has_attribute("value_floats")) {
    dtype = DType::fp32;
    for (const float value : context.reals("value_floats")) {
      numbers.push_back(Number::real(static_cast<double>(value)));
    }
  } else if (const auto values = context.integers("value_ints")) {
    for (const std::int64_t value : *values) numbers.emplace_back(Dim(value));
  } else {
    fail(ErrorKind::unsupported, "a constant that is neither a tensor nor numbers");
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (set_known(context, 0, dtype, {count}, std::move(numbers))) return true;
  context.set(0, Constant{.type = {{count}, dtype}});
  return true;
}

bool fold_constant_of_shape(OpContext& context) {
  Constant constant{.type = {{}, DType::fp32}};
  Number value;
  if (const std::optional<Bytes> message = context.tensor_attribute("value")) {
    const TensorDef tensor = parse_tensor(*message);
    constant.type.dtype = known_dtype(tensor.type);
    const KnownNumbers numbers = numbers_of(tensor);
    if (numbers != nullptr && !numbers->empty()) value = numbers->front();
  }
  // Files from which the weights were taken have these in their place, fed by initializers.
  const Constant* const source = context.constant(0);
  constant.is_learnt =
      source != nullptr && source->data != nullptr && is_floating(constant.type.dtype);

  Index extents;
  for (const Dim extent : context.dims(0, "the shape")) {
    if (extent.is_number() && extent.factor < 0) {
      fail(ErrorKind::input, "an extent must not be negative, got {}", extent.factor);
    }
    constant.type.shape.push_back(extent);
    if (extent.is_number()) extents.push_back(extent.factor);
  }
  if (extents.size() == constant.type.shape.size()) {
    const std::int64_t count = count_of(extents);
    if (may_compute(context, count)) {
      constant.numbers =
          std::make_shared<const Numbers>(Numbers(static_cast<std::size_t>(count), value));
    }
  }
  context.set(0, std::move(constant));
  return true;
}

bool fold_range(OpContext& context) {
  const KnownNumbers start = context.numbers(0);
  const KnownNumbers limit = context.numbers(1);
  const KnownNumbers step = context.numbers(2);
  for (const KnownNumbers& numbers : {start, limit, step}) {
    if (numbers == nullptr || numbers->size() != 1) return false;
  }
  const DType dtype = context.dtype(0);
  const Number from = start->front();
  const Number to = limit->front();
  const Number by = step->front();
  if (by.is(0)) fail(ErrorKind::input, "a range with a step of 0");
  if (from.is_plain() && to.is_plain() && by.is_plain()) {
    const double length = std::ceil((to.value() - from.value()) / by.value());
    if (!(length < 9e15)) fail(ErrorKind::input, "a range of {} numbers", length);
    const auto count = static_cast<std::int64_t>(std::max(0.0, length));
    if (!may_compute(context, count)) {
      context.set(0, Constant{.type = {{count}, dtype}});
      return true;
    }
    Numbers numbers;
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.push_back(Number::real(from.value() + static_cast<double>(i) * by.value()));
    }
    return set_known(context, 0, dtype, {count}, std::move(numbers));
  }
  // A range as long as a dimension: its length is known, its numbers are not.
  if (from.is_real() || to.is_real() || !by.is(1)) return false;
  const Dim length = context.symbols().subtract(to.whole(), from.whole());
  context.set(0, Constant{.type = {{length}, dtype}});
  return true;
}

constexpr std::array sources_rows = {
    FoldRow{"Shape", fold_shape},       FoldRow{"Size", fold_size},
    FoldRow{"Constant", fold_constant}, FoldRow{"ConstantOfShape", fold_constant_of_shape},
    FoldRow{"Range", fold_range},
};

}  // namespace

std::span<const FoldRow> source_folds() { return sources_rows; }

}  // namespace strata::onnx
