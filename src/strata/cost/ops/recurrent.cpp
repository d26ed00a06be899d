// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

namespace strata {
namespace {

constexpr std::size_t data = 0, first_state = 1, first_cell = 2;

// Arithmetic beside the products, per hidden unit and time step; a_ is what the products of a gate
// come to, σ is 3 FLOP.
//   rnn   h = tanh(a) or max(a, 0)                            1
//   lstm  i, f, o = σ(a_i), σ(a_f), σ(a_o)                    9
//         g = tanh(a_g)                                       1
//         c ← f·c + i·g                                       3
//         m = o·tanh(c);  h = m, or W_hr m                    2
//   gru   r, z = σ(a_r), σ(a_z)                               6
//         n = tanh(a_n + r·q), q = U_n h (+ b')               3
//         h ← (1−z)·n + z·h                                   4
// Backward, from dh to the gradients of the a_; before means at the step before:
//   rnn   da = dh·(1−h²), or h > 0 ? dh : 0                   3 or 1
//   lstm  t = tanh(c);  dc += dm·o·(1−t²)                     6
//         do = dm·t, di = dc·g, df = dc·c before, dg = dc·i   4
//         dc before = dc·f                                    1
//         da_i, da_f, da_o: ·y·(1−y);  da_g: ·(1−g²)          12
//   gru   da_n = dh·(1−z)·(1−n²)                              5
//         da_z = dh·(h before − n)·z·(1−z)                    5
//         dh before = dh·z (+ what the products bring)        1
//         dq = da_n·r;  da_r = da_n·q·r·(1−r)                 5
struct CellCost {
  std::int64_t forward_flop;
  std::int64_t backward_flop;
  std::int64_t saved_gates;  // numbers kept per hidden unit and time step: i, f, g, o; r, z, n, q
};

CellCost cost_of_cell(CellKind cell) {
  switch (cell) {
    case CellKind::rnn_tanh: return {1, 3, 0};
    case CellKind::rnn_relu: return {1, 1, 0};
    case CellKind::lstm: return {15, 23, 4};
    case CellKind::gru: return {13, 16, 4};
  }
  return {};
}

struct RecurrentSizes {
  Count steps;        // samples × time steps
  Count cell_steps;   // the same × layers × directions
  Count lower_steps;  // the same without the top layer
  std::int64_t directions;
  std::int64_t width;  // of h
  std::int64_t element_bytes;
  bool looks_back;  // more than one time step: some step multiplies with the h of an earlier one
};

RecurrentSizes sizes_of(const Recurrent& op, const CostSheet& sheet) {
  const BoundTensor& x = sheet.input(data);
  const std::int64_t directions = op.bidirectional ? 2 : 1;
  const Count steps = Count(x[0]) * x[1];
  return {steps,
          steps * op.layers * directions,
          steps * (op.layers - 1) * directions,
          directions,
          op.projection > 0 ? op.projection : op.hidden,
          bytes_per_element(x.dtype),
          x[1] > 1};
}

struct SavedPlaces {
  std::optional<std::size_t> gates, cells, hidden, unprojected;  // written by forward
  std::size_t gate_gradients = 0;  // handed from backward_input to backward_weight
  std::optional<std::size_t> state_gradients;
};

// What forward keeps beside X and Y. The gradients of the gates later take the place of the gates,
// which nobody needs any more; a plain RNN has no gates to overwrite, and a projection needs the
// gradient of h as well.
SavedPlaces save(const Recurrent& op, const RecurrentSizes& n, CostSheet& sheet) {
  SavedPlaces places;
  const CellCost cell = cost_of_cell(op.cell);
  const Count hidden_bytes = n.cell_steps * op.hidden * n.element_bytes;
  if (cell.saved_gates > 0) places.gates = sheet.save("gates", hidden_bytes * cell.saved_gates);
  if (op.cell == CellKind::lstm) places.cells = sheet.save("cells", hidden_bytes);
  if (op.layers > 1)
    places.hidden = sheet.save("hidden", n.lower_steps * n.width * n.element_bytes);
  if (op.projection > 0) places.unprojected = sheet.save("unprojected", hidden_bytes);

  if (!sheet.wants_any_gradient(sheet.first_own(), sheet.input_count())) return places;
  places.gate_gradients =
      places.gates ? *places.gates : sheet.hand_over("gate gradients", hidden_bytes);
  if (op.projection > 0) {
    places.state_gradients =
        sheet.hand_over("state gradients", n.cell_steps * n.width * n.element_bytes);
  }
  return places;
}

bool is_first_input_weight(const Recurrent& op, std::size_t own) {
  // Per layer and direction: weight_ih, weight_hh, the biases, weight_hr.
  const auto tensors = static_cast<std::size_t>(2 + op.biases + (op.projection > 0 ? 1 : 0));
  const std::size_t cell = own / tensors;
  return own % tensors == 0 && cell < (op.bidirectional ? 2U : 1U);
}

// Through time and layers, last step first. The gradients of X and of the first states come out of
// this run whatever they are, also where only the weights learn and it merely makes the gradients
// of the gates for them.
void write_backward_input(const Recurrent& op, const RecurrentSizes& n, const SavedPlaces& saved,
                          CostSheet& sheet) {
  PassSheet pass = sheet.backward_input();
  pass.reads_output_gradients();
  for (std::size_t i = sheet.first_own(); i < sheet.input_count(); ++i) {
    const bool is_matrix = sheet.input(i).axes() == 2;
    const bool makes_dx = is_first_input_weight(op, i - sheet.first_own());
    if (is_matrix && (!makes_dx || sheet.wants_gradient(data))) {
      pass.reads_input(i).add_mac(n.steps * sheet.input(i).elements);
    }
  }
  pass.add_flop(n.cell_steps * op.hidden * cost_of_cell(op.cell).backward_flop);
  // dh += dY, in the top layer only when Y itself has a gradient.
  pass.add_flop(n.lower_steps * n.width);
  if (sheet.output().wants_gradient) pass.add_flop(n.steps * n.directions * n.width);

  if (saved.gates) pass.reads_saved(*saved.gates);
  if (saved.cells) pass.reads_saved(*saved.cells);
  if (op.cell == CellKind::lstm) {
    if (sheet.first_own() > first_cell) pass.reads_input(first_cell);
  } else if (op.cell != CellKind::gru || n.looks_back) {
    pass.reads_output();
    if (saved.hidden) pass.reads_saved(*saved.hidden);
  }
  if (op.cell == CellKind::gru && sheet.first_own() > first_state) pass.reads_input(first_state);

  for (std::size_t i = 0; i < sheet.first_own(); ++i) {
    if (sheet.wants_gradient(i)) pass.writes_input_gradient(i);
  }
  if (sheet.wants_any_gradient(sheet.first_own(), sheet.input_count())) {
    pass.writes_saved(saved.gate_gradients);
    if (saved.state_gradients) pass.writes_saved(*saved.state_gradients);
  }
}

// dW = Σ over samples and steps of a gradient times what the weight was multiplied with; db = Σ of
// the gradients.
void write_backward_weight(const RecurrentSizes& n, const SavedPlaces& saved, CostSheet& sheet) {
  for (std::size_t i = sheet.first_own(); i < sheet.input_count(); ++i) {
    auto gradient = sheet.gradient_of(i);
    if (!gradient) continue;
    gradient->reads_saved(saved.gate_gradients);
    if (sheet.input(i).axes() == 1) {
      gradient->add_flop(n.steps * sheet.input(i).elements);
      continue;
    }
    gradient->add_mac(n.steps * sheet.input(i).elements).reads_input(data);
    if (n.looks_back) gradient->reads_output();
    if (sheet.first_own() > first_state) gradient->reads_input(first_state);
    if (saved.hidden) gradient->reads_saved(*saved.hidden);
    if (saved.unprojected) {
      gradient->reads_saved(*saved.unprojected).reads_saved(*saved.state_gradients);
    }
  }
}

}  // namespace

// Every weight meets every sample at every time step once, the first state (zero when it is not
// given) included:
//   forward          MAC = N·T·Σ|matrices|;  N·T·Σ|biases| additions;  the cell's own arithmetic
//   backward_input   the same MAC (without W_ih of the first layer where dX is not wanted)
//   backward_weight  the same MAC, and the same additions for the biases
// GRU as cuDNN and PyTorch have it: r multiplies Uₙ h, not h. Whether the gates are one product or
// four changes no count.
void write_cost(const Recurrent& op, CostSheet& sheet) {
  const RecurrentSizes n = sizes_of(op, sheet);
  PassSheet forward = sheet.forward_of_all();
  forward.add_flop(n.cell_steps * op.hidden * cost_of_cell(op.cell).forward_flop);
  for (std::size_t i = sheet.first_own(); i < sheet.input_count(); ++i) {
    const Count uses = n.steps * sheet.input(i).elements;
    if (sheet.input(i).axes() == 2) {
      forward.add_mac(uses);
    } else {
      forward.add_flop(uses);
    }
  }
  if (!sheet.has_backward()) return;
  const SavedPlaces saved = save(op, n, sheet);
  write_backward_input(op, n, saved, sheet);
  write_backward_weight(n, saved, sheet);
}

}  // namespace strata
