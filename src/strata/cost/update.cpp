// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/update.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <array>

namespace strata {
namespace {

struct Rule {
  Optimizer optimizer;
  std::string_view name;
  std::int64_t flop_per_element;
  std::int64_t states;  // tensors of the parameter's size, carried from iteration to iteration
};

// w is the parameter, g its gradient, m and v are states; all else is fixed for the iteration.
//   sgd        w ← w − η·g                                   2
//   momentum   v ← μ·v + g                                   2   (Polyak's, as PyTorch has it)
//              w ← w − η·v                                   2
//   adam       m ← β₁·m + (1−β₁)·g                           3   (Kingma and Ba, "Adam: a method
//              v ← β₂·v + (1−β₂)·g²                          4   for stochastic optimization",
//              w ← w − η·(m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)    7   algorithm 1)
constexpr std::array<Rule, 4> rules = {{
    {Optimizer::none, "none", 0, 0},
    {Optimizer::sgd, "sgd", 2, 0},
    {Optimizer::momentum, "momentum", 4, 1},
    {Optimizer::adam, "adam", 14, 2},
}};

const Rule& rule_of(Optimizer optimizer) {
  for (const Rule& rule : rules) {
    if (rule.optimizer == optimizer) return rule;
  }
  fail(ErrorKind::internal, "optimizer {} has no rule", static_cast<int>(optimizer));
}

}  // namespace

std::string_view name_of(Optimizer optimizer) { return rule_of(optimizer).name; }

std::optional<Optimizer> optimizer_named(std::string_view name) {
  for (const Rule& rule : rules) {
    if (rule.name == name) return rule.optimizer;
  }
  return std::nullopt;
}

UpdateCost update_cost(Optimizer optimizer, std::int64_t elements, DType dtype) {
  const Rule& rule = rule_of(optimizer);
  if (optimizer == Optimizer::none) return {};
  const Count bytes = Count(elements) * bytes_per_element(dtype);
  return {
      .flop = (rule.flop_per_element * Count(elements)).value(),
      .read_bytes = ((2 + Count(rule.states)) * bytes).value(),
      .write_bytes = ((1 + Count(rule.states)) * bytes).value(),
      .state_bytes = (rule.states * bytes).value(),
  };
}

}  // namespace strata
