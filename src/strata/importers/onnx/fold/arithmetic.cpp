// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/fold/fold.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace strata::onnx {
namespace {

using Binary = MaybeNumber (*)(OpContext& context, Number a, Number b);
using UnaryFunction = MaybeNumber (*)(OpContext& context, Number x);

MaybeNumber truth(std::optional<bool> value) {
  if (!value) return std::nullopt;
  return Number::truth(*value);
}

// Extents under NumPy's broadcasting; nothing when they do not fit, which the operator itself will
// complain about.
std::optional<Index> broadcast(const Index& a, const Index& b) {
  Index result = a.size() >= b.size() ? a : b;
  const Index& shorter = a.size() >= b.size() ? b : a;
  const std::size_t lead = result.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[lead + i];
    if (extent == shorter[i] || shorter[i] == 1) continue;
    if (extent != 1) return std::nullopt;
    extent = shorter[i];
  }
  return result;
}

std::optional<Known> combined(OpContext& context, const Known& a, const Known& b, Binary function) {
  const std::optional<Index> extents = broadcast(a.extents, b.extents);
  if (!extents || !may_compute(context, count_of(*extents))) return std::nullopt;
  Numbers numbers;
  bool is_known = true;
  for_each_index(*extents, [&](const Index& index) {
    if (!is_known) return;
    const MaybeNumber result = function(context, (*a.numbers)[place_in(a.extents, index)],
                                        (*b.numbers)[place_in(b.extents, index)]);
    is_known = result.has_value();
    if (result) numbers.push_back(*result);
  });
  if (!is_known) return std::nullopt;
  return Known{std::make_shared<const Numbers>(std::move(numbers)), *extents};
}

// A gain that is scaled, or a temperature that is clipped, is learnt whatever numbers it begins
// with: what is computed of it is computed in every iteration.
std::optional<Known> fixed(OpContext& context, std::size_t input) {
  if (is_learnt_operand(context, input)) return std::nullopt;
  return known(context, input);
}

// Any number of inputs, from the left.
bool fold_with(OpContext& context, Binary function, std::optional<DType> result_type) {
  if (context.input_count() == 0) return false;
  std::optional<Known> total = fixed(context, 0);
  for (std::size_t i = 1; total && i < context.input_count(); ++i) {
    const std::optional<Known> next = fixed(context, i);
    if (!next) return false;
    total = combined(context, *total, *next, function);
  }
  if (!total) return false;
  const DType dtype = result_type.value_or(context.dtype(0));
  return set_known(context, 0, dtype, total->extents, *total->numbers);
}

template <Binary function>
bool fold_binary(OpContext& context) {
  return fold_with(context, function, std::nullopt);
}

template <Binary function>
bool fold_comparison(OpContext& context) {
  return context.input_count() == 2 && fold_with(context, function, DType::boolean);
}

MaybeNumber add(OpContext& context, Number a, Number b) { return sum(a, b, context.symbols()); }
MaybeNumber subtract(OpContext& context, Number a, Number b) {
  return difference(a, b, context.symbols());
}
MaybeNumber multiply(OpContext& context, Number a, Number b) {
  return product(a, b, context.symbols());
}
MaybeNumber divide(OpContext& context, Number a, Number b) {
  return quotient(a, b, !is_floating(context.dtype(0)), context.symbols());
}
MaybeNumber modulo(OpContext& context, Number a, Number b) {
  return remainder(a, b, context.symbols());
}
MaybeNumber raise(OpContext&, Number a, Number b) { return power(a, b); }
MaybeNumber maximum(OpContext& context, Number a, Number b) {
  return larger(a, b, context.symbols());
}
MaybeNumber minimum(OpContext& context, Number a, Number b) {
  return smaller(a, b, context.symbols());
}
MaybeNumber equal(OpContext&, Number a, Number b) { return truth(are_equal(a, b)); }
MaybeNumber less(OpContext&, Number a, Number b) { return truth(is_less(a, b)); }
MaybeNumber greater(OpContext&, Number a, Number b) { return truth(is_less(b, a)); }
MaybeNumber at_most(OpContext& context, Number a, Number b) {
  const MaybeNumber is_greater = greater(context, a, b);
  if (!is_greater) return std::nullopt;
  return Number::truth(is_greater->is(0));
}
MaybeNumber at_least(OpContext& context, Number a, Number b) { return at_most(context, b, a); }
MaybeNumber both(OpContext&, Number a, Number b) {
  if (a.is(0) || b.is(0)) return Number::truth(false);
  if (!a.is_plain() || !b.is_plain()) return std::nullopt;
  return Number::truth(true);
}
MaybeNumber either(OpContext&, Number a, Number b) {
  if (!a.is_plain() || !b.is_plain()) return std::nullopt;
  return Number::truth(!a.is(0) || !b.is(0));
}

template <UnaryFunction function>
bool fold_unary(OpContext& context) {
  const std::optional<Known> x = fixed(context, 0);
  if (!x || !may_compute(context, static_cast<std::int64_t>(x->numbers->size()))) return false;
  Numbers numbers;
  numbers.reserve(x->numbers->size());
  for (const Number number : *x->numbers) {
    const MaybeNumber result = function(context, number);
    if (!result) return false;
    numbers.push_back(*result);
  }
  return set_known(context, 0, context.dtype(0), x->extents, std::move(numbers));
}

// A bound of a Clip: an attribute first and an input since opset 11; nothing where there is none.
struct Bound {
  std::optional<Number> value;
  bool is_known = true;
};

Bound bound_of_clip(OpContext& context, std::size_t input, std::string_view attribute) {
  if (context.has(input)) {
    const KnownNumbers numbers = context.numbers(input);
    if (numbers == nullptr || numbers->size() != 1) return {std::nullopt, false};
    return {numbers->front()};
  }
  if (!context.has_attribute(attribute)) return {};
  return {Number::real(context.real(attribute, 0))};
}

// TensorFlow's padding is at least 0: max(0, (⌈in/stride⌉ − 1)·stride + cover − in).
bool fold_clip(OpContext& context) {
  const std::optional<Known> x = fixed(context, 0);
  const Bound least = bound_of_clip(context, 1, "min");
  const Bound most = bound_of_clip(context, 2, "max");
  if (!x || !least.is_known || !most.is_known) return false;
  if (!may_compute(context, static_cast<std::int64_t>(x->numbers->size()))) return false;
  Numbers numbers;
  numbers.reserve(x->numbers->size());
  for (const Number number : *x->numbers) {
    MaybeNumber clipped = number;
    if (least.value) clipped = larger(*clipped, *least.value, context.symbols());
    if (clipped && most.value) clipped = smaller(*clipped, *most.value, context.symbols());
    if (!clipped) return false;
    numbers.push_back(*clipped);
  }
  return set_known(context, 0, context.dtype(0), x->extents, std::move(numbers));
}

template <double (*function)(double)>
MaybeNumber of_plain(OpContext&, Number x) {
  if (!x.is_plain()) return std::nullopt;
  return Number::real(function(x.value()));
}

MaybeNumber negate(OpContext& context, Number x) { return product(x, Dim(-1), context.symbols()); }
MaybeNumber logical_not(OpContext&, Number x) {
  if (!x.is_plain()) return std::nullopt;
  return Number::truth(x.is(0));
}
// A whole number, symbol or not, is its own floor and ceiling.
MaybeNumber floor_of(OpContext& context, Number x) {
  return x.is_real() ? of_plain<std::floor>(context, x) : x;
}
MaybeNumber ceiling_of(OpContext& context, Number x) {
  return x.is_real() ? of_plain<std::ceil>(context, x) : x;
}
double reciprocal_of(double x) { return 1 / x; }

bool fold_where(OpContext& context) {
  const std::optional<Known> condition = known(context, 0);
  const std::optional<Known> yes = fixed(context, 1);
  const std::optional<Known> no = fixed(context, 2);
  if (!condition || !yes || !no) return false;
  const std::optional<Index> both_extents = broadcast(yes->extents, no->extents);
  if (!both_extents) return false;
  const std::optional<Index> extents = broadcast(condition->extents, *both_extents);
  if (!extents || !may_compute(context, count_of(*extents))) return false;
  Numbers numbers;
  bool is_known = true;
  for_each_index(*extents, [&](const Index& index) {
    const Number chosen = (*condition->numbers)[place_in(condition->extents, index)];
    is_known = is_known && chosen.is_plain();
    const Known& from = chosen.is(0) ? *no : *yes;
    numbers.push_back((*from.numbers)[place_in(from.extents, index)]);
  });
  if (!is_known) return false;
  return set_known(context, 0, context.dtype(1), *extents, std::move(numbers));
}

template <Binary function>
bool fold_reduction(OpContext& context) {
  const std::optional<Known> x = fixed(context, 0);
  if (!x || x->numbers->empty()) return false;
  if (context.has(1) && context.numbers(1) == nullptr) return false;
  const auto axes = context.axes(1, "axes");
  const bool reduces_all = !axes || axes->empty();
  if (reduces_all && axes && context.integer("noop_with_empty_axes", 0) != 0) return false;
  std::vector<bool> is_reduced(x->extents.size(), reduces_all);
  for (const std::int64_t axis : axes.value_or(Index{})) {
    is_reduced[normal_axis(axis, x->extents.size())] = true;
  }
  if (!may_compute(context, static_cast<std::int64_t>(x->numbers->size()))) return false;

  const bool keeps = context.integer("keepdims", 1) != 0;
  Index kept_extents;  // with 1 where reduced
  Index extents;
  for (std::size_t axis = 0; axis < x->extents.size(); ++axis) {
    kept_extents.push_back(is_reduced[axis] ? 1 : x->extents[axis]);
    if (keeps || !is_reduced[axis]) extents.push_back(kept_extents.back());
  }
  std::vector<MaybeNumber> totals(static_cast<std::size_t>(count_of(kept_extents)));
  bool is_known = true;
  for_each_index(x->extents, [&](const Index& index) {
    MaybeNumber& total = totals[place_in(kept_extents, index)];
    const Number number = (*x->numbers)[place_in(x->extents, index)];
    if (is_known) total = total ? function(context, *total, number) : MaybeNumber(number);
    is_known = is_known && total.has_value();
  });
  if (!is_known) return false;
  Numbers numbers;
  for (const MaybeNumber& total : totals) numbers.push_back(*total);
  return set_known(context, 0, context.dtype(0), extents, std::move(numbers));
}

constexpr std::array arithmetic_rows = {
    FoldRow{"Add", fold_binary<add>},
    FoldRow{"Sum", fold_binary<add>},
    FoldRow{"Sub", fold_binary<subtract>},
    FoldRow{"Mul", fold_binary<multiply>},
    FoldRow{"Div", fold_binary<divide>},
    FoldRow{"Mod", fold_binary<modulo>},
    FoldRow{"Pow", fold_binary<raise>},
    FoldRow{"Max", fold_binary<maximum>},
    FoldRow{"Min", fold_binary<minimum>},
    FoldRow{"And", fold_comparison<both>},
    FoldRow{"Or", fold_comparison<either>},
    FoldRow{"Equal", fold_comparison<equal>},
    FoldRow{"Less", fold_comparison<less>},
    FoldRow{"Greater", fold_comparison<greater>},
    FoldRow{"LessOrEqual", fold_comparison<at_most>},
    FoldRow{"GreaterOrEqual", fold_comparison<at_least>},
    FoldRow{"Not", fold_unary<logical_not>},
    FoldRow{"Neg", fold_unary<negate>},
    FoldRow{"Abs", fold_unary<of_plain<std::fabs>>},
    FoldRow{"Sqrt", fold_unary<of_plain<std::sqrt>>},
    FoldRow{"Exp", fold_unary<of_plain<std::exp>>},
    FoldRow{"Log", fold_unary<of_plain<std::log>>},
    FoldRow{"Reciprocal", fold_unary<of_plain<reciprocal_of>>},
    FoldRow{"Floor", fold_unary<floor_of>},
    FoldRow{"Ceil", fold_unary<ceiling_of>},
    FoldRow{"Clip", fold_clip},
    FoldRow{"Where", fold_where},
    FoldRow{"ReduceProd", fold_reduction<multiply>},
    FoldRow{"ReduceSum", fold_reduction<add>},
    FoldRow{"ReduceMax", fold_reduction<maximum>},
    FoldRow{"ReduceMin", fold_reduction<minimum>},
};

}  // namespace

std::span<const FoldRow> arithmetic_folds() { return arithmetic_rows; }

}  // namespace strata::onnx
