// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/infer.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

#include <algorithm>

namespace strata {

void Inference::clear() {
  inputs.clear();
  outputs.clear();
  own.clear();
  assumed_equal.clear();
}

void Inference::expect_inputs(std::size_t least, std::size_t most) const {
  if (inputs.size() >= least && inputs.size() <= most) return;
  if (least == most) fail(ErrorKind::input, "expects {} input(s), got {}", least, inputs.size());
  fail(ErrorKind::input, "expects {} to {} inputs, got {}", least, most, inputs.size());
}

void Inference::expect_axes(std::size_t input, std::size_t least, std::size_t most) const {
  const std::size_t axes = shape(input).size();
  if (axes >= least && axes <= most) return;
  const std::string came = text_of(shape(input), symbols);
  if (least == most) fail(ErrorKind::input, "input {} expects {} axes, got {}", input, least, came);
  fail(ErrorKind::input, "input {} expects at least {} axes, got {}", input, least, came);
}

std::int64_t Inference::number(Dim dim, std::string_view what) const {
  if (!dim.is_number())
    fail(ErrorKind::unsupported, "{} must be a number, got {}", what, symbols.text(dim));
  return dim.factor;
}

void Inference::assume_equal(Dim left, Dim right, std::string_view what) {
  if (left == right) return;
  if (left.is_number() && right.is_number()) {
    fail(ErrorKind::input, "{} differ: {} and {}", what, left.factor, right.factor);
  }
  assumed_equal.emplace_back(left, right);
}

Dim Inference::broadcast(Dim left, Dim right) {
  if (left == right || right.is(1)) return left;
  if (left.is(1)) return right;
  assume_equal(left, right, "broadcast extents");
  // A number says most; of two symbols the older one is nearer to what the user calls it.
  if (left.is_number() || right.is_number()) return left.is_number() ? left : right;
  return left.symbol < right.symbol ? left : right;
}

Shape Inference::broadcast(const Shape& left, const Shape& right) {
  const Shape& longer = left.size() >= right.size() ? left : right;
  const Shape& shorter = left.size() >= right.size() ? right : left;
  Shape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i)
    result[lead + i] = broadcast(longer[lead + i], shorter[i]);
  return result;
}

void infer(const Operator& op, Inference& sheet) {
  std::visit([&sheet](const auto& alternative) { infer_shapes(alternative, sheet); }, op);
  for (const TensorType& output : sheet.outputs) {
    const bool is_empty = std::any_of(output.shape.begin(), output.shape.end(),
                                      [](Dim d) { return d.is_number() && d.factor < 1; });
    if (is_empty)
      fail(ErrorKind::input, "the output would be empty: {}", text_of(output.shape, sheet.symbols));
  }
}

}  // namespace strata
