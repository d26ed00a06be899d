// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/training/recurrent_run.hpp"

#include <optional>

// Backward through time, in exactly the reverse order. The formulas, and what each costs, stand at
// the cost sheet (cost/ops/recurrent.cpp).
namespace strata {
void RecurrentRun::backward(const Instance& instance) {
  const auto wants_any = [&](const std::vector<TensorId>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [&](TensorId id) { return wants(id); });
  };
  if (!wants_any(node_.outputs) || !wants_any(node_.inputs)) return;
  if (above_.empty()) above_.assign(hiddens_.size(), no_value);
  for (std::uint32_t layer = layers_; layer-- > 0;) {
    if (instance.time > 0) {
      backward_cell(cell_at(layer, 0, instance.time - 1));
      continue;
    }
    for (std::uint32_t direction = directions_; direction-- > 0;) {
      for (std::uint32_t step = times_; step-- > 0;) backward_cell(cell_at(layer, direction, step));
    }
  }
}

void RecurrentRun::backward_cell(const Cell& cell) {
  const ValueId hidden_gradient = incoming(cell);
  std::array<ValueId, 4> raw{no_value, no_value, no_value, no_value};
  next_carry_ = no_value;
  switch (op_.cell) {
    case CellKind::lstm: raw = backward_lstm(cell, hidden_gradient); break;
    case CellKind::gru: raw = backward_gru(cell, hidden_gradient); break;
    default:
      raw[0] = make_gradient(cell, CellSlot::raw_0);
      backward_operation(cell, op_.cell == CellKind::rnn_tanh ? 3 : 1,
                         {hidden_gradient, hidden_of(cell)}, {raw[0]});
  }
  backward_products(cell, raw);
  carry_hidden_[cell.row] = next_carry_;
  if (cell.step == 0 && next_carry_ != no_value) hand_over_state(cell, first_state, next_carry_);
  if (cell.layer == 0) settle_input(cell);
}

// dh: what comes from above, and what comes from the next time step; before the last one nothing
// does, or the gradient of the last state where that goes on.
ValueId RecurrentRun::incoming(const Cell& cell) {
  const bool is_top = cell.layer + 1 == layers_;
  const auto of_value = builder_.gradients.of(hidden_of(cell)).value_or(no_value);
  const ValueId above = is_top ? of_value : above_[cell.index];
  ValueId carry = carry_hidden_[cell.row];
  if (cell.step + 1 == times_ && !is_top) carry = of_value;
  if (is_top && !wants(node_.outputs[0])) return above != no_value ? above : carry;
  const ValueId sum = make(cell, CellSlot::hidden, ValueKind::gradient, width_);
  pointwise(cell, input_pass_, 1, width_, {above, carry}, {sum});
  return sum;
}

std::array<ValueId, 4> RecurrentRun::backward_lstm(const Cell& cell, ValueId hidden_gradient) {
  if (op_.projection > 0) hidden_gradient = backward_projection(cell, hidden_gradient);
  const auto [i, f, g, o] = gate_values_[cell.index];
  const ValueId c = cells_[cell.index];
  const ValueId tanh = make(cell, CellSlot::cell_tanh, ValueKind::feature, hidden_);
  const auto gradient = [&](CellSlot at) { return make_gradient(cell, at); };
  const ValueId di = gradient(CellSlot::gate_0), df = gradient(CellSlot::gate_1),
                dg = gradient(CellSlot::gate_2), d_o = gradient(CellSlot::gate_3),
                d_tanh = gradient(CellSlot::cell_tanh), dc_part = gradient(CellSlot::term_0),
                dc = gradient(CellSlot::cell);

  backward_operation(cell, 1, {c}, {tanh});
  backward_operation(cell, 2, {hidden_gradient, tanh, o}, {d_o, d_tanh});
  backward_operation(cell, 3, {d_tanh, tanh}, {dc_part});
  ValueId carry = carry_cell_[cell.row];
  if (cell.step + 1 == times_) carry = builder_.gradients.of(c).value_or(no_value);
  backward_operation(cell, 1, {dc_part, carry}, {dc});
  backward_operation(cell, 2, {dc, g, i}, {di, dg});

  const bool goes_on = cell.step > 0 || wants_state_gradient(first_cell);
  const ValueId dc_before = goes_on ? gradient(CellSlot::term_1) : no_value;
  begin(cell, input_pass_, LayerClass::pointwise);
  read(dc);
  read(f);
  read(before(cell, first_cell, cells_));
  builder_.writer.writes(df);
  if (goes_on) builder_.writer.writes(dc_before);
  builder_.writer.add_work((Count(batch_) * hidden_ * 2).value(), 0);
  carry_cell_[cell.row] = dc_before;

  const std::array<ValueId, 4> raw{gradient(CellSlot::raw_0), gradient(CellSlot::raw_1),
                                   gradient(CellSlot::raw_2), gradient(CellSlot::raw_3)};
  backward_operation(cell, 3, {di, i}, {raw[0]});
  backward_operation(cell, 3, {df, f}, {raw[1]});
  backward_operation(cell, 3, {dg, g}, {raw[2]});
  backward_operation(cell, 3, {d_o, o}, {raw[3]});
  if (cell.step == 0 && goes_on) hand_over_state(cell, first_cell, dc_before);
  return raw;
}

ValueId RecurrentRun::backward_projection(const Cell& cell, ValueId hidden_gradient) {
  const TensorId weight = own(cell, first_bias + static_cast<std::size_t>(op_.biases));
  const ValueId result = make_gradient(cell, CellSlot::unprojected);
  const Count mac = Count(batch_) * size_of(weight);
  const auto add_product = [&] { builder_.writer.add_work((mac * 2).value(), mac.value()); };
  begin(cell, input_pass_, LayerClass::dense);
  read(hidden_gradient);
  read(builder_.values.of(weight));
  builder_.writer.writes(result);
  add_product();
  if (!wants(weight)) return result;
  if (builder_.options.separate_backward) {
    begin(cell, weight_pass_, LayerClass::dense);
    read(hidden_gradient);
  }
  read(unprojected_[cell.index]);
  builder_.gradients.write(builder_.values.of(weight));
  add_product();
  builder_.gradients.settle(cell.time + 1);
  return result;
}

// The gradients of r, z, n and of U_n h, and the part of dh that goes past the gates.
std::array<ValueId, 4> RecurrentRun::backward_gru(const Cell& cell, ValueId hidden_gradient) {
  const auto [r, z, n, q] = gate_values_[cell.index];
  const auto gradient = [&](CellSlot at) { return make_gradient(cell, at); };
  const std::array<ValueId, 4> raw{gradient(CellSlot::raw_0), gradient(CellSlot::raw_1),
                                   gradient(CellSlot::raw_2), gradient(CellSlot::raw_3)};
  backward_operation(cell, 5, {hidden_gradient, z, n}, {raw[2]});
  begin(cell, input_pass_, LayerClass::pointwise);
  read(hidden_gradient);
  read(before(cell, first_state, hiddens_));
  read(n);
  read(z);
  builder_.writer.writes(raw[1]);
  builder_.writer.add_work((Count(batch_) * hidden_ * 5).value(), 0);
  if (cell.step > 0 || wants_state_gradient(first_state))
    next_carry_ = make(cell, CellSlot::spare, ValueKind::gradient, width_);
  backward_operation(cell, 1, {hidden_gradient, z}, {next_carry_});
  backward_operation(cell, 5, {raw[2], r, q}, {raw[3], raw[0]});
  return raw;
}

bool RecurrentRun::wants_state_gradient(std::uint32_t input) const {
  return input < node_.first_own && wants(node_.inputs[input]);
}

bool RecurrentRun::wants_data_gradient(const Cell& cell) const {
  return cell.layer > 0 || wants(node_.inputs[data]);
}

bool RecurrentRun::wants_weights(const Cell& cell) const {
  const std::size_t tensors = first_bias + static_cast<std::size_t>(op_.biases);
  for (std::size_t i = 0; i < tensors; ++i) {
    if (wants(own(cell, i))) return true;
  }
  return false;
}

void RecurrentRun::backward_products(const Cell& cell, const std::array<ValueId, 4>& raw) {
  for (std::uint32_t group = 0; group < groups_; ++group) {
    const auto open = [&](Pass pass) {
      begin(cell, pass, LayerClass::dense);
      for (std::uint32_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != no_value && group_of(i) == group) read(raw[i]);
      }
    };
    const bool has_weights = wants_weights(cell);
    open(input_pass_);
    read_for_input(cell, group);
    if (builder_.options.separate_backward) {
      write_inputs(cell);
      if (has_weights) {
        open(weight_pass_);
        read_for_weights(cell);
        write_weights(cell, group);
      }
    } else {
      if (has_weights) read_for_weights(cell);
      write_inputs(cell);
      if (has_weights) write_weights(cell, group);
    }
    builder_.gradients.settle(cell.time + 1);
    add_parts(cell);
  }
}

void RecurrentRun::read_for_input(const Cell& cell, std::uint32_t group) {
  if (wants_data_gradient(cell)) read(gate_of(own(cell, input_weight), group, groups_));
  read(gate_of(own(cell, state_weight), group, groups_));
}

void RecurrentRun::read_for_weights(const Cell& cell) {
  if (wants(own(cell, input_weight))) read_data(cell);
  if (wants(own(cell, state_weight))) read(before(cell, first_state, hiddens_));
}

// What one product brings to a gradient that other products, of other gates or of the other
// direction, contribute to as well.
void RecurrentRun::write_part(ValueId& sum, ValueId part) {
  builder_.writer.writes(part);
  parts_.push_back({&sum, part});
}

// After the step: the parts are added pair by pair, each addition a step, as everywhere.
void RecurrentRun::add_parts(const Cell& cell) {
  for (const auto& [sum, part] : parts_) {
    if (*sum == no_value) {
      *sum = part;
      continue;
    }
    const Value like_part = builder_.writer.value(part);
    const ValueId total = builder_.writer.add(like_part);
    builder_.writer.begin({.node = id_,
                           .pass = input_pass_,
                           .layer_class = LayerClass::pointwise,
                           .is_gradient_sum = true,
                           .time = cell.time + 1});
    builder_.writer.reads(*sum, {Operand::input, 0});
    builder_.writer.reads(part, {Operand::input, 1});
    builder_.writer.writes(total, {Operand::output, 0});
    builder_.writer.add_work(like_part.bytes / element_bytes_, 0);
    *sum = total;
  }
  parts_.clear();
}

void RecurrentRun::write_data_gradient(const Cell& cell) {
  if (cell.layer > 0) {
    for (std::uint32_t direction = 0; direction < directions_; ++direction) {
      const std::uint32_t below = ((cell.layer - 1) * directions_ + direction) * times_ + cell.time;
      write_part(above_[below], builder_.gradients.make(hiddens_[below]));
    }
    return;
  }
  const TensorId x = node_.inputs[data];
  const ValueIds ids = follows_time_ ? builder_.values.at(x, cell.time + 1) : builder_.values.of(x);
  for (std::uint32_t i = 0; i < ids.count; ++i) {
    ValueId& sum = data_gradients_.try_emplace(ids[i], no_value).first->second;
    if (follows_time_ || sum == no_value) {
      write_part(sum, builder_.gradients.make(ids[i]));
    } else {  // of an input that every time step reads whole, all add to one gradient
      builder_.writer.reads(sum);
      builder_.writer.writes(sum);
    }
  }
}

void RecurrentRun::write_inputs(const Cell& cell) {
  Count mac = Count(batch_) * size_of(own(cell, state_weight));
  if (wants_data_gradient(cell)) {
    mac += Count(batch_) * size_of(own(cell, input_weight));
    write_data_gradient(cell);
  }
  if (cell.step > 0 || wants_state_gradient(first_state)) {
    write_part(next_carry_, make(cell, CellSlot::spare, ValueKind::gradient, width_));
  }
  const std::int64_t share = mac.value() / groups_;
  builder_.writer.add_work((Count(share) * 2).value(), share);
}

void RecurrentRun::write_weights(const Cell& cell, std::uint32_t group) {
  const std::size_t tensors = first_bias + static_cast<std::size_t>(op_.biases);
  for (std::size_t i = 0; i < tensors; ++i) {
    const TensorId weight = own(cell, i);
    if (!wants(weight)) continue;
    builder_.gradients.write(gate_of(weight, group, groups_));
    const std::int64_t share = (Count(batch_) * size_of(weight)).value() / groups_;
    const bool is_matrix = i < first_bias;
    builder_.writer.add_work(is_matrix ? (Count(share) * 2).value() : share, is_matrix ? share : 0);
  }
}

// Takes up the gradients of the input that no other cell adds to any more.
void RecurrentRun::settle_input(const Cell& cell) {
  --first_layer_left_;
  const bool is_complete = follows_time_ ? cell.direction == 0 : first_layer_left_ == 0;
  if (!is_complete || data_gradients_.empty()) return;
  const TensorId x = node_.inputs[data];
  const ValueIds ids = follows_time_ ? builder_.values.at(x, cell.time + 1) : builder_.values.of(x);
  for (std::uint32_t i = 0; i < ids.count; ++i) {
    const auto gradient = data_gradients_.find(ids[i]);
    if (gradient == data_gradients_.end()) continue;
    builder_.gradients.contribute(ids[i], gradient->second, cell.time + 1);
    data_gradients_.erase(gradient);
  }
}

// The gradient of a given first state; one that is not cut into cells takes each in turn.
void RecurrentRun::hand_over_state(const Cell& cell, std::uint32_t input, ValueId gradient) {
  const ValueIds ids = builder_.values.piece(node_.inputs[input], cell.row, layers_ * directions_);
  if (ids.count == 1 &&
      builder_.writer.value(ids[0]).bytes == builder_.writer.value(gradient).bytes)
    return builder_.gradients.contribute(ids[0], gradient, cell.time + 1);
  begin(cell, input_pass_, LayerClass::other);
  read(gradient);
  builder_.gradients.write(ids);
  builder_.gradients.settle(cell.time + 1);
}

}  // namespace strata
