// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

namespace strata {

// E numbers become R.
//   sum       E;               dx = dy
//   mean      E + R;           dx = dy/length: R
//   max, min  E comparisons;   dx = x = y ? dy : 0: E
//   product   E;               dx = dy·y/x: R + E (no x may be zero)
//   l2        2·E + R, √Σx²;   dx = dy/y·x: R + E
void write_cost(const Reduce& op, CostSheet& sheet) {
  const Count elements = sheet.input(0).elements;
  const Count results = sheet.output().elements;
  PassSheet forward = sheet.forward_of_all();
  forward.add_flop(op.kind == ReduceKind::l2 ? elements * 2 : elements);
  if (op.kind == ReduceKind::mean || op.kind == ReduceKind::l2) forward.add_flop(results);

  auto dx = sheet.gradient_of(0);
  if (!dx) return;
  dx->reads_output_gradient();
  switch (op.kind) {
    case ReduceKind::sum: return;
    case ReduceKind::mean: dx->add_flop(results); return;
    case ReduceKind::maximum:
    case ReduceKind::minimum: dx->reads_input(0).reads_output().add_flop(elements); return;
    case ReduceKind::product:
    case ReduceKind::l2: dx->reads_input(0).reads_output().add_flop(elements + results); return;
  }
}

// M samples, E = M·classes. The arithmetic is that of training also where no gradient is wanted.
//   p = softmax(x), which is kept: 5·E
//   loss = Σ (log(sum) − (x[target] − max)) / M: 3·M + 1
//   dx = p·g, and − g at the target, with g = dy/M: E + M + 1
void write_cost(const SoftmaxCrossEntropy& op, CostSheet& sheet) {
  const BoundTensor& logits = sheet.input(0);
  const Count elements = logits.elements;
  const Count samples = logits.elements / logits[normal_axis(op.axis, logits.axes())];
  sheet.forward_of_all().add_flop(elements * 5 + samples * 3 + 1);
  if (!sheet.has_backward()) return;
  const std::size_t probabilities = sheet.save("probabilities", logits.bytes);
  if (auto dx = sheet.gradient_of(0)) {
    dx->reads_output_gradient().reads_saved(probabilities).reads_input(1);
    dx->add_flop(elements + samples + 1);
  }
}

// Σ(p − t)²/E: 3·E + 1.   dp = (p − t)·g with g = 2·dy/E: 2·E + 2;  dt = −dp, free where dp is
// made.
void write_cost(const SquaredError&, CostSheet& sheet) {
  const Count elements = sheet.input(0).elements;
  sheet.forward_of_all().add_flop(elements * 3 + 1);
  const bool share_a_pass =
      sheet.wants_gradient(0) && sheet.is_parameter(0) == sheet.is_parameter(1);
  for (const std::size_t i : {0, 1}) {
    if (auto gradient = sheet.gradient_of(i)) {
      gradient->reads_output_gradient().reads_input(0).reads_input(1);
      if (i == 0 || !share_a_pass) gradient->add_flop(elements * 2 + 2);
    }
  }
}

}  // namespace strata
