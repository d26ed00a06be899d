// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/fold/fold.hpp"
#include "strata/importers/onnx/ops/shapes.hpp"

#include <array>
#include <cmath>

// Constants under another shape, type or name: the numbers stay where they are.
namespace strata::onnx {
namespace {

bool fold_identity(OpContext& context) {
  const Constant* const given = context.constant(0);
  if (given == nullptr) return false;
  // PyTorch stores equal vectors once and gives each parameter its name by an Identity.
  if (is_vector(given->type.shape) && given->is_learnt && given->data != nullptr) {
    Constant named = *given;
    named.name = {};
    named.root = no_root;
    context.set(0, std::move(named));
    return true;
  }
  context.pass_on(0, 0);
  return true;
}

bool set_view(OpContext& context, const Shape& shape) {
  Constant* const given = context.constant(0);
  context.session().numbers_of(*given);
  Constant view = *given;
  view.type.shape = shape;
  context.set(0, std::move(view));
  return true;
}

template <Shape (*shape_of)(OpContext&)>
bool fold_view(OpContext& context) {
  if (context.constant(0) == nullptr || context.is_put_together(0)) return false;
  const bool has_shape_input = context.has(1);
  if (has_shape_input && context.numbers(1) == nullptr) return false;
  return set_view(context, shape_of(context));
}

bool fold_transpose(OpContext& context) {
  Constant* const given = context.constant(0);
  if (given == nullptr || context.is_put_together(0)) return false;
  const Axes permutation = permutation_of(context);
  const std::optional<Known> x = known(context, 0);
  Constant view = *given;
  view.data = nullptr;
  view.type.shape.clear();
  for (const std::int64_t axis : permutation) {
    view.type.shape.push_back(given->type.shape[static_cast<std::size_t>(axis)]);
  }
  if (x && may_compute(context, static_cast<std::int64_t>(x->numbers->size()))) {
    Index extents;
    for (const Dim extent : view.type.shape) extents.push_back(extent.factor);
    Numbers numbers;
    Index from(extents.size());
    for_each_index(extents, [&](const Index& index) {
      for (std::size_t i = 0; i < index.size(); ++i) {
        from[static_cast<std::size_t>(permutation[i])] = index[i];
      }
      numbers.push_back((*x->numbers)[place_in(x->extents, from)]);
    });
    view.numbers = std::make_shared<const Numbers>(std::move(numbers));
  } else {
    view.numbers.reset();
  }
  context.set(0, std::move(view));
  return true;
}

Number cast_to(Number number, DType dtype) {
  if (dtype == DType::boolean) {
    return Number::truth(!number.is_plain() || number.value() != 0);  // a size is not 0
  }
  if (is_floating(dtype) || !number.is_real()) return number;
  const double value = number.value();
  return std::isfinite(value) ? Number::real(std::trunc(value)) : Number(Dim(0));
}

bool fold_cast_to(OpContext& context, DType dtype) {
  Constant* const given = context.constant(0);
  if (given == nullptr || context.is_put_together(0)) return false;
  const KnownNumbers numbers = context.numbers(0);
  if (numbers == nullptr) {
    Constant view = *given;
    view.type.dtype = dtype;
    context.set(0, std::move(view));
    return true;
  }
  if (!may_compute(context, static_cast<std::int64_t>(numbers->size()))) return false;
  auto cast = std::make_shared<Numbers>();
  for (const Number number : *numbers) cast->push_back(cast_to(number, dtype));
  Constant view = *given;
  view.type.dtype = dtype;
  view.numbers = std::move(cast);
  view.data = is_floating(dtype) ? given->data : nullptr;
  context.set(0, std::move(view));
  return true;
}

bool fold_cast(OpContext& context) {
  if (context.constant(0) == nullptr) return false;
  return fold_cast_to(context, known_dtype(static_cast<std::int32_t>(context.integer("to", 1))));
}

bool fold_cast_like(OpContext& context) { return fold_cast_to(context, context.dtype(1)); }

constexpr std::array views_rows = {
    FoldRow{"Identity", fold_identity},
    FoldRow{"Reshape", fold_view<reshape_target>},
    FoldRow{"Squeeze", fold_view<squeezed_shape>},
    FoldRow{"Unsqueeze", fold_view<unsqueezed_shape>},
    FoldRow{"Flatten", fold_view<flattened_shape>},
    FoldRow{"Transpose", fold_transpose},
    FoldRow{"Cast", fold_cast},
    FoldRow{"CastLike", fold_cast_like},
};

}  // namespace

std::span<const FoldRow> view_folds() { return views_rows; }

}  // namespace strata::onnx
