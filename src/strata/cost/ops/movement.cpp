// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

#include <algorithm>

// Operators that put numbers elsewhere. They compute nothing, save where a number goes to several
// places and its gradient is the sum from there. Only what is moved counts as touched.
namespace strata {
namespace {

// Every number of X goes to one place of Y, and its gradient comes back from there.
void write_move(CostSheet& sheet) {
  sheet.forward_of_all();
  if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradient();
}

bool have_equal_shapes(const CostSheet& sheet) {
  return sheet.input(0).elements == sheet.output().elements;
}

}  // namespace

// Each gradient is its part of dY.
void write_cost(const Concat&, CostSheet& sheet) {
  sheet.forward_of_all();
  for (std::size_t i = 0; i < sheet.input_count(); ++i) {
    if (auto gradient = sheet.gradient_of(i)) {
      gradient->reads_part_of_output_gradient(sheet.input(i).bytes);
    }
  }
}

// Parts are copies, not views. A part that reaches no result has no gradient; its place in dX
// becomes zero.
void write_cost(const Split&, CostSheet& sheet) {
  sheet.forward_of_all();
  if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradients();
}

// Reads only what the slice takes; dX is written whole, zero elsewhere.
void write_cost(const Slice&, CostSheet& sheet) {
  sheet.forward().reads_part_of_input(0, sheet.output().bytes).writes_all_outputs();
  if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradient();
}

void write_cost(const Reshape&, CostSheet& sheet) { sheet.alias(); }

void write_cost(const Flatten&, CostSheet& sheet) { sheet.alias(); }

void write_cost(const Transpose&, CostSheet& sheet) { write_move(sheet); }

void write_cost(const ChannelShuffle&, CostSheet& sheet) { write_move(sheet); }

void write_cost(const SpaceToDepth&, CostSheet& sheet) { write_move(sheet); }

// dX = Σ dY over the repeats: |Y| additions.
void write_cost(const Expand&, CostSheet& sheet) {
  if (have_equal_shapes(sheet)) return sheet.alias();
  sheet.forward_of_all();
  if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradient().add_flop(sheet.output().elements);
}

// Each output is a weighted sum of neighbours, 2 (linear) or 4 (cubic) along every axis whose
// extent changes, so a product and an addition for each; the weights follow from the shapes alone
// and are not counted. The gradient goes the same ways back. nearest copies; its gradient adds:
// |Y|.
void write_cost(const Resize& op, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  const BoundTensor& y = sheet.output();
  if (x.shape == y.shape) return sheet.alias();
  Count neighbours = 1;
  for (std::size_t axis = 2; axis < x.axes(); ++axis) {
    if (x[axis] != y[axis]) neighbours *= op.kind == ResizeKind::cubic ? 4 : 2;
  }
  const bool copies = op.kind == ResizeKind::nearest;
  sheet.forward_of_all().add_flop(copies ? Count(0) : neighbours * 2 * y.elements);
  if (auto dx = sheet.gradient_of(0)) {
    dx->reads_output_gradient().add_flop(copies ? Count(y.elements) : neighbours * 2 * y.elements);
  }
}

// Negative padding cuts: what is cut is not read, and its gradient is zero.
void write_cost(const Pad& op, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  Count kept = bytes_per_element(x.dtype);
  for (std::size_t axis = 0; axis < x.axes(); ++axis) {
    const Count cut = Count(0) - std::min<std::int64_t>(op.begin[axis], 0) -
                      std::min<std::int64_t>(op.end[axis], 0);
    kept *= std::max<std::int64_t>((x[axis] - cut).value(), 0);
  }
  sheet.forward().reads_part_of_input(0, kept).writes_all_outputs();
  if (auto dx = sheet.gradient_of(0)) dx->reads_part_of_output_gradient(kept);
}

// Reads as many rows as are looked up, at most the whole table. The table's gradient is dense: all
// of it is written, |Y| additions go into the rows that were looked up.
void write_cost(const Embedding&, CostSheet& sheet) {
  const std::size_t table = sheet.first_own();
  const BoundTensor& y = sheet.output();
  const Count looked_up = Count(y.elements) * bytes_per_element(sheet.input(table).dtype);
  sheet.forward().reads_input(0).reads_part_of_input(table, looked_up).writes_all_outputs();
  if (auto gradient = sheet.gradient_of(table)) {
    gradient->reads_output_gradient().reads_input(0).add_flop(y.elements);
  }
}

// As Embedding, of any tensor along any axis.
void write_cost(const Gather&, CostSheet& sheet) {
  const BoundTensor& y = sheet.output();
  sheet.forward().reads_input(1).reads_part_of_input(0, y.bytes).writes_all_outputs();
  if (auto gradient = sheet.gradient_of(0)) {
    gradient->reads_output_gradient().reads_input(1).add_flop(y.elements);
  }
}

}  // namespace strata
