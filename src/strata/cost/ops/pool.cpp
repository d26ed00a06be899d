// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

#include <numeric>

namespace strata {
namespace {

// Where the maximum lay in its window: one byte while it can tell the places apart.
std::int64_t index_bytes(Count window) { return window <= 256 ? 1 : 4; }

// `taken` is how many numbers all windows together take in, padding included.
//   maximum  forward: `taken` comparisons; keeps the place of each maximum
//            dX[place] += dY: |Y| additions
//   average  forward: `taken` additions and |Y| divisions
//            dX += dY/divisor, over the window: as many
void write_pool(PoolKind kind, Count taken, Count largest_window, CostSheet& sheet) {
  const BoundTensor& y = sheet.output();
  if (kind == PoolKind::average) {
    sheet.forward_of_all().add_flop(taken + y.elements);
    if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradient().add_flop(taken + y.elements);
    return;
  }
  sheet.forward_of_all().add_flop(taken);
  if (!sheet.has_backward()) return;
  const std::size_t places = sheet.save("indices", Count(y.elements) * index_bytes(largest_window));
  if (auto dx = sheet.gradient_of(0))
    dx->reads_output_gradient().reads_saved(places).add_flop(y.elements);
}

}  // namespace

void write_cost(const Pool& op, CostSheet& sheet) {
  Count window = 1;
  for (const std::int64_t extent : op.kernel) window *= extent;
  write_pool(op.kind, window * sheet.output().elements, window, sheet);
}

// Output i of O takes in the inputs ⌊i·I/O⌋ … ⌈(i+1)·I/O⌉ − 1 of I (PyTorch's adaptive pooling).
// Neighbouring windows share a number unless their edge falls between two, which happens gcd(I, O)
// times: the windows of one axis together hold I + O − gcd numbers, the longest ⌈(I + O − gcd)/O⌉.
void write_cost(const AdaptivePool& op, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  const BoundTensor& y = sheet.output();
  Count taken = Count(x[0]) * x[1];
  Count largest_window = 1;
  for (std::size_t axis = 2; axis < x.axes(); ++axis) {
    const std::int64_t all = (Count(x[axis]) + y[axis] - std::gcd(x[axis], y[axis])).value();
    taken *= all;
    largest_window *= (all - 1) / y[axis] + 1;
  }
  write_pool(op.kind, taken, largest_window, sheet);
}

}  // namespace strata
