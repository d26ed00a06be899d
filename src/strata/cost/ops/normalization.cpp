// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

// E numbers in R rows (sets that share statistics), s = 1 with a scale γ, b = 1 with a shift β,
// else 0; r = 1/√(variance + ε), x̂ = (x − mean)·r.
namespace strata {
namespace {

// What the backward of one kind of normalisation costs; all keep X and some statistics per row, and
// have dβ = Σ dY: E.
struct Backward {
  Count rows;
  std::int64_t statistics_per_row;
  Count dx_flop;
  Count scale_flop;
};

void write_backward(bool has_scale, bool has_shift, const Backward& backward, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  const std::size_t scale = sheet.first_own();
  const std::size_t shift = scale + (has_scale ? 1 : 0);
  if (sheet.wants_gradient(0) || (has_scale && sheet.wants_gradient(scale))) {
    const std::size_t statistics = sheet.save(
        "statistics", backward.rows * backward.statistics_per_row * statistic_bytes(x.dtype));
    if (auto dx = sheet.gradient_of(0)) {
      dx->reads_output_gradient().reads_input(0).reads_saved(statistics).add_flop(backward.dx_flop);
      if (has_scale) dx->reads_input(scale);
    }
    if (has_scale && sheet.wants_gradient(scale)) {
      auto gradient = sheet.gradient_of(scale);
      gradient->reads_output_gradient().reads_input(0).reads_saved(statistics);
      gradient->add_flop(backward.scale_flop);
    }
  }
  if (has_shift) {
    if (auto gradient = sheet.gradient_of(shift))
      gradient->reads_output_gradient().add_flop(x.elements);
  }
}

// mean: E + R;  variance, in a second pass: 3·E + R;  r: 3·R;  x̂: 2·E;  γ·x̂ + β: (s + b)·E
Count forward_flop(Count elements, Count rows, bool scale, bool shift) {
  return elements * (6 + scale + shift) + rows * 5;
}

// Layer and group normalisation, where γ varies within a row. Keeps X and, per row, mean and r.
//   d̂ = dY·γ (s·E);  x̂ (2·E);  Σd̂ (E) and Σd̂·x̂ (2·E), each divided by the row's length (2·R);
//   dX = r·(d̂ − Σd̂/length − x̂·Σd̂x̂/length) (4·E)
//   dγ = Σ dY·x̂: 2·E, and 2·E for x̂
void write_row_normalization(Count rows, bool scale, bool shift, CostSheet& sheet) {
  const Count elements = sheet.input(0).elements;
  sheet.forward_of_all().add_flop(forward_flop(elements, rows, scale, shift));
  write_backward(scale, shift, {rows, 2, elements * (9 + scale) + rows * 2, elements * 4}, sheet);
}

// Rows of a normalisation over the axes from `axis` to the last.
std::int64_t rows_before(const BoundTensor& x, std::int64_t axis) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < normal_axis(axis, x.axes()); ++i) rows *= x[i];
  return rows;
}

}  // namespace

// R = channels.
//   training   as above, and for the mean and the variance running ← (1−m)·running + m·batch: 6·R
//   inference  r from the running variance (3·R);  x̂ (2·E);  γ and β ((s + b)·E)
//   dX = γ·r·(dY − ΣdY/length − x̂·ΣdY·x̂/length): γ·r is one number per row, so 9·E + (2 + s)·R
//   dγ = Σ dY·x̂: 4·E, as above
void write_cost(const BatchNorm& op, CostSheet& sheet) {
  const Count elements = sheet.input(0).elements;
  const Count rows = sheet.input(0)[1];
  PassSheet forward = sheet.forward_of_all();
  if (!sheet.is_training()) {
    forward.add_flop(elements * (2 + op.scale + op.shift) + rows * 3);
    return;
  }
  const std::size_t running_mean = sheet.input_count() - 2;
  const std::size_t running_variance = sheet.input_count() - 1;
  forward.writes_input(running_mean).writes_input(running_variance);
  forward.add_flop(forward_flop(elements, rows, op.scale, op.shift) + rows * 6);
  write_backward(op.scale, op.shift, {rows, 2, elements * 9 + rows * (2 + op.scale), elements * 4},
                 sheet);
}

void write_cost(const LayerNorm& op, CostSheet& sheet) {
  write_row_normalization(rows_before(sheet.input(0), op.axis), op.scale, op.shift, sheet);
}

void write_cost(const GroupNorm& op, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  const std::int64_t groups = op.groups == 0 ? x[1] : op.groups;
  write_row_normalization(Count(x[0]) * groups, op.scale, op.shift, sheet);
}

// r = 1/√(Σx²/length + ε): 2·E + 4·R;  x̂ = x·r (E), ·γ (s·E). Keeps X and, per row, r.
//   d̂ = dY·γ (s·E);  x̂ (E);  Σd̂·x̂ (2·E), /length (R);  dX = r·(d̂ − x̂·Σd̂x̂/length) (3·E)
//   dγ = Σ dY·x̂: 2·E, and E for x̂
void write_cost(const RmsNorm& op, CostSheet& sheet) {
  const Count elements = sheet.input(0).elements;
  const Count rows = rows_before(sheet.input(0), op.axis);
  sheet.forward_of_all().add_flop(elements * (3 + op.scale) + rows * 4);
  write_backward(op.scale, false, {rows, 1, elements * (6 + op.scale) + rows, elements * 3}, sheet);
}

// Per number, channels beyond the edge counted like padding:
//   t = k + α/size·Σx² over `size` channels: 1 + size + 2;  y = x / t^β: 2
//   dx = dy·t^−β − (2αβ/size)·x·Σ dy·y/t: 2, then 2 + size for the sum, 2 products, 1 subtraction
// Keeps t beside X and Y, as Caffe does, rather than summing the squares again.
void write_cost(const LocalResponseNorm& op, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  sheet.forward_of_all().add_flop(x.elements * (Count(op.size) + 5));
  if (!sheet.has_backward()) return;
  const std::size_t scale = sheet.save("scale", x.bytes);
  if (auto dx = sheet.gradient_of(0)) {
    dx->reads_output_gradient().reads_input(0).reads_output().reads_saved(scale);
    dx->add_flop(x.elements * (Count(op.size) + 7));
  }
}

}  // namespace strata
