// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

// Y = f(A₀, …, Aₙ₋₁) with E = |Y|. An operand smaller than Y is repeated in forward; its gradient
// is summed over the repeats: E additions more than the per-element figures below.
namespace strata {
namespace {

Count forward_flop(ElementwiseKind kind, Count elements, std::size_t inputs) {
  const auto n = static_cast<std::int64_t>(inputs);
  switch (kind) {
    case ElementwiseKind::add:
    case ElementwiseKind::multiply:
    case ElementwiseKind::maximum:
    case ElementwiseKind::minimum: return elements * (n - 1);
    case ElementwiseKind::mean: return elements * n;  // n − 1 additions and a division
    case ElementwiseKind::select: return 0;
    default: return elements;
  }
}

bool is_repeated(const CostSheet& sheet, std::size_t input) {
  return sheet.input(input).elements != sheet.output().elements;
}

// dAᵢ is dY itself, or its sum where Aᵢ was repeated.
void pass_on(CostSheet& sheet, std::size_t input) {
  const bool is_same_type = sheet.input(input).dtype == sheet.output().dtype;
  if (is_same_type && !is_repeated(sheet, input)) return sheet.alias_gradient_of(input);
  if (auto gradient = sheet.gradient_of(input)) {
    gradient->reads_output_gradient().add_flop(is_repeated(sheet, input) ? sheet.output().elements
                                                                         : 0);
  }
}

// dAᵢ = dY·∏ of the others: n − 1 products.
void write_product_gradients(CostSheet& sheet) {
  const Count elements = sheet.output().elements;
  const std::size_t n = sheet.input_count();
  for (const bool of_parameters : {false, true}) {
    std::size_t wanted = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!sheet.wants_gradient(i) || sheet.is_parameter(i) != of_parameters) continue;
      const std::int64_t sum = is_repeated(sheet, i) ? 1 : 0;
      sheet.gradient_of(i)->reads_output_gradient().add_flop(
          elements * (static_cast<std::int64_t>(n) - 1 + sum));
      last = i;
      ++wanted;
    }
    if (wanted == 0) continue;
    PassSheet pass = of_parameters ? sheet.backward_weight() : sheet.backward_input();
    for (std::size_t j = 0; j < n; ++j) {
      if (wanted > 1 || j != last) pass.reads_input(j);
    }
  }
}

// Enters one gradient: dY and the arithmetic, the sum over repeats included. What else is read, the
// caller adds.
std::optional<PassSheet> gradient(CostSheet& sheet, std::size_t input,
                                  std::int64_t flop_per_element) {
  auto pass = sheet.gradient_of(input);
  if (pass) {
    const std::int64_t sum = is_repeated(sheet, input) ? 1 : 0;
    pass->reads_output_gradient().add_flop(Count(sheet.output().elements) *
                                           (flop_per_element + sum));
  }
  return pass;
}

void write_gradients(ElementwiseKind kind, CostSheet& sheet) {
  const std::size_t n = sheet.input_count();
  switch (kind) {
    case ElementwiseKind::add:
      for (std::size_t i = 0; i < n; ++i) pass_on(sheet, i);
      return;
    case ElementwiseKind::subtract:  // dB = −dY
      pass_on(sheet, 0);
      gradient(sheet, 1, 0);
      return;
    case ElementwiseKind::multiply: return write_product_gradients(sheet);
    case ElementwiseKind::divide:  // dA = dY/B, dB = −dY·Y/B
      if (auto da = gradient(sheet, 0, 1)) da->reads_input(1);
      if (auto db = gradient(sheet, 1, 2)) db->reads_output().reads_input(1);
      return;
    case ElementwiseKind::power:  // dA = dY·B·A^(B − 1), dB = dY·Y·log A
      if (auto da = gradient(sheet, 0, 4)) da->reads_input(0).reads_input(1);
      if (auto db = gradient(sheet, 1, 3)) db->reads_output().reads_input(0);
      return;
    case ElementwiseKind::maximum:
    case ElementwiseKind::minimum:  // dA = A = Y ? dY : 0
      for (std::size_t i = 0; i < n; ++i) {
        if (auto da = gradient(sheet, i, 1)) da->reads_input(i).reads_output();
      }
      return;
    case ElementwiseKind::mean:  // dA = dY/n
      for (std::size_t i = 0; i < n; ++i) gradient(sheet, i, 1);
      return;
    case ElementwiseKind::modulo:  // A − B·⌊A/B⌋: dA = dY, dB = −dY·⌊A/B⌋
      pass_on(sheet, 0);
      if (auto db = gradient(sheet, 1, 3)) db->reads_input(0).reads_input(1);
      return;
    case ElementwiseKind::select:  // dA = condition ? dY : 0, dB = condition ? 0 : dY
      for (const std::size_t i : {1, 2}) {
        if (auto da = gradient(sheet, i, 0)) da->reads_input(0);
      }
      return;
    default: return;  // comparisons and logic have no gradient
  }
}

}  // namespace

void write_cost(const Elementwise& op, CostSheet& sheet) {
  if (sheet.input_count() == 1) return sheet.alias();  // a sum, product, … of one
  sheet.forward_of_all().add_flop(
      forward_flop(op.kind, sheet.output().elements, sheet.input_count()));
  if (sheet.has_backward()) write_gradients(op.kind, sheet);
}

}  // namespace strata
