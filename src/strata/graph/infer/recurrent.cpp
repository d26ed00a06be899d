// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

namespace strata {
namespace {

// Real stacks have up to a few dozen layers; each layer adds tensors, so a file may not ask for
// millions.
constexpr std::int64_t most_layers = 1024;

std::int64_t gates_of(CellKind cell) {
  switch (cell) {
    case CellKind::lstm: return 4;
    case CellKind::gru: return 3;
    case CellKind::rnn_tanh:
    case CellKind::rnn_relu: return 1;
  }
  return 1;
}

void check(const Recurrent& op) {
  if (op.hidden < 1) fail(ErrorKind::input, "hidden must be at least 1, got {}", op.hidden);
  if (op.layers < 1 || op.layers > most_layers) {
    fail(ErrorKind::input, "layers must be 1 to {}, got {}", most_layers, op.layers);
  }
  if (op.biases < 0 || op.biases > 2)
    fail(ErrorKind::input, "biases must be 0, 1 or 2, got {}", op.biases);
  if (op.projection < 0 || (op.projection > 0 && op.cell != CellKind::lstm)) {
    fail(ErrorKind::input, "a projection of {} needs an LSTM and a positive width", op.projection);
  }
}

}  // namespace

void infer_shapes(const Recurrent& op, Inference& sheet) {
  check(op);
  const bool is_lstm = op.cell == CellKind::lstm;
  sheet.expect_inputs(1, is_lstm ? 3 : 2);
  sheet.expect_axes(0, 3, 3);
  const Shape& x = sheet.shape(0);
  const std::int64_t features = sheet.number(x[2], "the number of features");
  const std::int64_t directions = op.bidirectional ? 2 : 1;
  const std::int64_t width = op.projection > 0 ? op.projection : op.hidden;
  const Dim stacked = op.layers * directions;
  for (std::size_t i = 1; i < sheet.inputs.size(); ++i) {
    sheet.expect_axes(i, 3, 3);
    const Shape& state = sheet.shape(i);
    sheet.assume_equal(state[0], stacked, "layers × directions and the initial state");
    sheet.assume_equal(state[1], x[0], "batch and the initial state's batch");
    sheet.assume_equal(state[2], i == 1 ? width : op.hidden, "width and the initial state's width");
  }

  const DType dtype = sheet.dtype(0);
  sheet.output({x[0], x[1], checked_mul(directions, width)}, dtype);
  sheet.output({stacked, x[0], width}, dtype);
  if (is_lstm) sheet.output({stacked, x[0], op.hidden}, dtype);

  const std::int64_t gate_rows = checked_mul(gates_of(op.cell), op.hidden);
  for (std::int64_t layer = 0; layer < op.layers; ++layer) {
    const std::int64_t in = layer == 0 ? features : directions * width;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = fmt::format("_l{}{}", layer, direction == 0 ? "" : "_reverse");
      sheet.own_tensor("weight_ih" + suffix, {gate_rows, in});
      sheet.own_tensor("weight_hh" + suffix, {gate_rows, width});
      if (op.biases > 0) sheet.own_tensor("bias_ih" + suffix, {gate_rows});
      if (op.biases > 1) sheet.own_tensor("bias_hh" + suffix, {gate_rows});
      if (op.projection > 0) sheet.own_tensor("weight_hr" + suffix, {op.projection, op.hidden});
    }
  }
}

}  // namespace strata
