// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <array>

// ONNX: X is [T, N, F], Y is [T, directions, N, H]; with layout 1 the batch comes first. Strata's
// node is [N, T, F] → [N, T, directions·H]; the transposes between them vanish in passes/views.cpp
// where the file has their opposite beside it.
namespace strata::onnx {
namespace {

constexpr std::size_t input_x = 0, input_w = 1, input_r = 2, input_b = 3, input_h = 5, input_c = 6,
                      input_peepholes = 7;

class RecurrentReader {
 public:
  RecurrentReader(OpContext& context, CellKind cell, std::int64_t gates)
      : context_(context), gates_(gates) {
    op_.cell = cell;
  }

  void read() {
    read_sizes();
    std::vector<DraftId> inputs = {batch_first(context_.tensor(input_x))};
    add_states(inputs);
    const std::vector<DraftId> own = own_tensors();
    set_outputs(context_.add_all(op_, inputs, own));
    if (context_.has(input_peepholes)) {
      context_.warn(WarningCode::part_ignored,
                    context_.place() + ": its peephole connections are not counted");
    }
  }

 private:
  void read_sizes() {
    if (context_.rank(input_x) != 3 || context_.rank(input_w) != 3 || context_.rank(input_r) != 3) {
      fail(ErrorKind::input, "X, W and R have 3 axes, got {}, {} and {}", context_.rank(input_x),
           context_.rank(input_w), context_.rank(input_r));
    }
    const std::string_view direction = context_.word("direction", "forward");
    op_.bidirectional = direction == "bidirectional";
    if (!op_.bidirectional && direction != "forward" && direction != "reverse") {
      fail(ErrorKind::input, "direction is {}, expected forward, reverse or bidirectional",
           quoted(direction));
    }
    directions_ = op_.bidirectional ? 2 : 1;
    is_batch_first_ = context_.integer("layout", 0) != 0;
    op_.hidden = number_of(context_, context_.shape(input_r)[2], "the hidden size");
    features_ = number_of(context_, context_.shape(input_w)[2], "the number of features");
    op_.biases = context_.has(input_b) ? 2 : 0;
    if (op_.cell == CellKind::rnn_tanh) {
      const std::vector<std::string_view> activations = context_.words("activations");
      if (!activations.empty() && activations.front() == "Relu") op_.cell = CellKind::rnn_relu;
    }
    check_extents();
  }

  void check_extents() {
    const std::int64_t rows = checked_mul(gates_, op_.hidden);
    check(input_w, {directions_, rows, features_});
    check(input_r, {directions_, rows, op_.hidden});
    if (context_.has(input_b)) check(input_b, {directions_, checked_mul(rows, 2)});
  }

  void check(std::size_t input, const Shape& expected) {
    const Shape& shape = context_.shape(input);
    if (shape == expected) return;
    fail(ErrorKind::input, "input {} is {}, expected {}", input, text_of(shape, context_.symbols()),
         text_of(expected, context_.symbols()));
  }

  DraftId batch_first(DraftId tensor) {
    return is_batch_first_ ? tensor : context_.transposed(tensor, {1, 0, 2}, "batch_first");
  }

  // A state that is the same in every iteration is the zeros it usually is; only one that comes
  // from elsewhere in the network is an input. c₀ without h₀ cannot be said.
  void add_states(std::vector<DraftId>& inputs) {
    const std::size_t last = op_.cell == CellKind::lstm ? input_c : input_h;
    for (std::size_t input = input_h; input <= last; ++input) {
      if (!context_.has(input) || context_.is_constant(input)) return;
      const DraftId state = context_.tensor(input);
      if (context_.draft().tensors[state].is_fixed) return;
      inputs.push_back(is_batch_first_ ? context_.transposed(state, {1, 0, 2}, "state") : state);
    }
  }

  std::vector<DraftId> own_tensors() {
    const std::int64_t rows = checked_mul(gates_, op_.hidden);
    std::vector<DraftId> own;
    for (std::uint32_t direction = 0; direction < directions_; ++direction) {
      const bool is_second = direction == 1;
      own.push_back(context_.weight_part(input_w, direction, {rows, features_},
                                         is_second ? "weight_ih_l0_reverse" : "weight_ih_l0"));
      own.push_back(context_.weight_part(input_r, direction, {rows, op_.hidden},
                                         is_second ? "weight_hh_l0_reverse" : "weight_hh_l0"));
      if (op_.biases == 0) continue;
      own.push_back(context_.weight_part(input_b, 2 * direction, {rows},
                                         is_second ? "bias_ih_l0_reverse" : "bias_ih_l0"));
      own.push_back(context_.weight_part(input_b, 2 * direction + 1, {rows},
                                         is_second ? "bias_hh_l0_reverse" : "bias_hh_l0"));
    }
    return own;
  }

  void set_outputs(const std::vector<DraftId>& made) {
    if (context_.wants(0)) {
      const Shape y = context_.draft().shape(made[0]);
      const DraftId split =
          context_.reshaped(made[0], {y[0], y[1], directions_, op_.hidden}, "directions");
      context_.set(
          0, is_batch_first_ ? split : context_.transposed(split, {1, 2, 0, 3}, "time_first"));
    }
    for (std::size_t i = 1; i < made.size(); ++i) {
      if (!context_.wants(i)) continue;
      context_.set(i, is_batch_first_ ? context_.transposed(made[i], {1, 0, 2}, "batch_first_state")
                                      : made[i]);
    }
  }

  OpContext& context_;
  Recurrent op_;
  std::int64_t gates_;
  std::int64_t directions_ = 1;
  std::int64_t features_ = 0;
  bool is_batch_first_ = false;
};

void lower_lstm(OpContext& context) { RecurrentReader(context, CellKind::lstm, 4).read(); }
void lower_gru(OpContext& context) { RecurrentReader(context, CellKind::gru, 3).read(); }
void lower_rnn(OpContext& context) { RecurrentReader(context, CellKind::rnn_tanh, 1).read(); }

constexpr std::array recurrent_rows = {
    OpRow{"LSTM", lower_lstm},
    OpRow{"GRU", lower_gru},
    OpRow{"RNN", lower_rnn},
};

}  // namespace

std::span<const OpRow> recurrent_ops() { return recurrent_rows; }

}  // namespace strata::onnx
