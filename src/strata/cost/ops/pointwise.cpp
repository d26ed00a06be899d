// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

#include <array>

namespace strata {
namespace {

enum class Keeps : std::uint8_t { input, output, nothing, no_gradient };

struct UnaryCost {
  UnaryKind kind;
  std::int64_t forward_flop;  // per element
  std::int64_t backward_flop;
  Keeps keeps;
};

// y = f(x) and dx = dy·f′, per element; σ(x) = 1/(1 + exp(−x)) is 3 FLOP. Whatever can be had from
// y is, since y is mostly kept anyway by the layer that reads it.
//   relu            max(x, 0)                     y > 0 ? dy : 0
//   relu6           min(max(x, 0), 6)             0 < y < 6 ? dy : 0
//   leaky_relu      x > 0 ? x : a·x               y > 0 ? dy : a·dy, with a > 0
//   prelu           the same, a learnt            x > 0 ? dy : a·dy, with a of either sign
//   elu             x > 0 ? x : α(exp x − 1)      y > 0 ? dy : dy·(y + α)
//   selu            λ·elu(x)                      y > 0 ? λ·dy : dy·(y + λα)
//   gelu            ½x(1 + erf(x/√2))             dy·(Φ + x·φ): Φ is 4, φ is 4
//   gelu_tanh       ½x(1 + tanh c(x + ax³))       dy·(½(1 + t) + ½x(1 − t²)·c(1 + 3ax²)): t is 6
//   silu            x·σ                           dy·σ·(1 + x(1 − σ))
//   hard_swish      x·min(max(x + 3, 0), 6)/6     |x| < 3 ? dy·(x/3 + ½) : x > 0 ? dy : 0
//   hard_sigmoid    min(max(x/6 + ½, 0), 1)       0 < y < 1 ? dy/6 : 0
//   sigmoid         σ                             dy·y·(1 − y)
//   tanh            tanh x                        dy·(1 − y²)
//   mish            x·tanh(log(1 + e)), e = exp x dy·(t + x·(e/(1 + e))·(1 − t²)): t is 4
//   softplus        log(1 + exp x)                dy·σ
//   softsign        x/(1 + |x|)                   dy/(1 + |x|)²
//   clip            min(max(x, lo), hi)           lo < y < hi ? dy : 0
//   identity        an alias
//   negate          −x                            −dy
//   absolute        |x|                           x > 0 ? dy : −dy
//   square          x·x                           2·x·dy
//   square_root     √x                            ½·dy/y
//   reciprocal      1/x                           −dy·y·y
//   exponential     exp x                         dy·y
//   logarithm       log x                         dy/x
//   error_function  erf x                         dy·2/√π·exp(−x²)
//   sine            sin x                         dy·cos x
//   cosine          cos x                         −dy·sin x
//   sign            x > 0 and x < 0, two comparisons
constexpr std::array<UnaryCost, 33> unary_costs = {{
    {UnaryKind::relu, 1, 1, Keeps::output},
    {UnaryKind::relu6, 2, 2, Keeps::output},
    {UnaryKind::leaky_relu, 2, 2, Keeps::output},
    {UnaryKind::prelu, 2, 2, Keeps::input},
    {UnaryKind::elu, 4, 3, Keeps::output},
    {UnaryKind::selu, 5, 4, Keeps::output},
    {UnaryKind::gelu, 5, 11, Keeps::input},
    {UnaryKind::gelu_tanh, 9, 18, Keeps::input},
    {UnaryKind::silu, 4, 8, Keeps::input},
    {UnaryKind::hard_swish, 5, 5, Keeps::input},
    {UnaryKind::hard_sigmoid, 4, 3, Keeps::output},
    {UnaryKind::sigmoid, 3, 3, Keeps::output},
    {UnaryKind::tanh, 1, 3, Keeps::output},
    {UnaryKind::mish, 5, 11, Keeps::input},
    {UnaryKind::softplus, 3, 4, Keeps::input},
    {UnaryKind::softsign, 2, 3, Keeps::input},
    {UnaryKind::clip, 2, 2, Keeps::output},
    {UnaryKind::identity, 0, 0, Keeps::nothing},
    {UnaryKind::negate, 0, 0, Keeps::nothing},
    {UnaryKind::absolute, 0, 1, Keeps::input},
    {UnaryKind::square, 1, 2, Keeps::input},
    {UnaryKind::square_root, 1, 2, Keeps::output},
    {UnaryKind::reciprocal, 1, 2, Keeps::output},
    {UnaryKind::exponential, 1, 1, Keeps::output},
    {UnaryKind::logarithm, 1, 1, Keeps::input},
    {UnaryKind::error_function, 1, 4, Keeps::input},
    {UnaryKind::sine, 1, 2, Keeps::input},
    {UnaryKind::cosine, 1, 2, Keeps::input},
    {UnaryKind::floor, 1, 0, Keeps::no_gradient},
    {UnaryKind::ceiling, 1, 0, Keeps::no_gradient},
    {UnaryKind::round, 1, 0, Keeps::no_gradient},
    {UnaryKind::sign, 2, 0, Keeps::no_gradient},
    {UnaryKind::logical_not, 1, 0, Keeps::no_gradient},
}};

constexpr bool rows_stand_at_their_kind() {
  for (std::size_t i = 0; i < unary_costs.size(); ++i) {
    if (static_cast<std::size_t>(unary_costs[i].kind) != i) return false;
  }
  return unary_costs.back().kind == UnaryKind::logical_not;
}
static_assert(rows_stand_at_their_kind(), "one row per UnaryKind, in its order");

}  // namespace

// prelu's slope, one per channel: dslope = Σ dy·min(x, 0), 3·E.
void write_cost(const Unary& op, CostSheet& sheet) {
  if (op.kind == UnaryKind::identity) return sheet.alias();
  const UnaryCost& unary = unary_costs[static_cast<std::size_t>(op.kind)];
  const Count elements = sheet.input(0).elements;
  sheet.forward_of_all().add_flop(elements * unary.forward_flop);
  if (unary.keeps == Keeps::no_gradient) return;

  if (auto dx = sheet.gradient_of(0)) {
    dx->reads_output_gradient().add_flop(elements * unary.backward_flop);
    if (unary.keeps == Keeps::input) dx->reads_input(0);
    if (unary.keeps == Keeps::output) dx->reads_output();
    if (op.kind == UnaryKind::prelu) dx->reads_input(sheet.first_own());
  }
  if (op.kind == UnaryKind::prelu) {
    if (auto slope = sheet.gradient_of(sheet.first_own())) {
      slope->reads_output_gradient().reads_input(0).add_flop(elements * 3);
    }
  }
}

// E numbers in R rows along the axis.
//   softmax      max, −max, exp, sum, ÷: 5·E;               dx = y·(dy − Σ dy·y): 4·E
//   log softmax  max, −max, exp, sum, −log(sum): 5·E + R;   dx = dy − exp(y)·Σ dy: 4·E
void write_cost(const Softmax& op, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  const std::int64_t rows = x.elements / x[normal_axis(op.axis, x.axes())];
  sheet.forward_of_all().add_flop(Count(x.elements) * 5 + (op.log ? rows : 0));
  if (auto dx = sheet.gradient_of(0)) {
    dx->reads_output_gradient().reads_output().add_flop(Count(x.elements) * 4);
  }
}

// y = u ≥ p ? x/(1−p) : 0 with u random: a comparison and a product; making u is not counted. The
// mask is a byte per number.
//   dx = mask ? dy/(1−p) : 0: a product
// In inference, and with p = 0, nothing happens.
void write_cost(const Dropout& op, CostSheet& sheet) {
  if (!sheet.is_training() || op.probability == 0) return sheet.alias();
  const Count elements = sheet.input(0).elements;
  sheet.forward_of_all().add_flop(elements * 2);
  if (!sheet.has_backward()) return;
  const std::size_t mask = sheet.save("mask", elements);
  if (auto dx = sheet.gradient_of(0))
    dx->reads_output_gradient().reads_saved(mask).add_flop(elements);
}

// Moves every number and computes nothing; between equal types not even that.
void write_cost(const Cast&, CostSheet& sheet) {
  if (sheet.input(0).dtype == sheet.output().dtype) return sheet.alias();
  sheet.forward_of_all();
  if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradient();
}

}  // namespace strata
