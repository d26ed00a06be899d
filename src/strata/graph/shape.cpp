// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/shape.hpp"

namespace strata {

std::string text_of(const Shape& shape, const Symbols& symbols) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const Dim dim : shape) {
    if (!text.empty()) text += "×";
    text += symbols.text(dim);
  }
  return text;
}

Dim elements_of(const Shape& shape, Symbols& symbols) {
  Dim product = 1;
  for (const Dim dim : shape) product = symbols.multiply(product, dim);
  return product;
}

std::size_t normal_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    fail(ErrorKind::input, "axis {} of a tensor with {} axes", axis, rank);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

}  // namespace strata
