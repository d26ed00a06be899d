// SPDX-License-Identifier: Apache-2.0
#include "strata/training/recurrent_run.hpp"

#include "strata/base/error.hpp"
#include "strata/training/time_axis.hpp"

#include <limits>

namespace strata {
namespace {

CellSlot slot(CellSlot first, std::uint32_t gate) {
  return static_cast<CellSlot>(static_cast<std::uint32_t>(first) + gate);
}

}  // namespace

RecurrentRun::RecurrentRun(ProgramBuilder& builder, NodeId node)
    : builder_(builder),
      node_(builder.graph.nodes[node]),
      id_(node),
      op_(std::get<Recurrent>(node_.op)) {
  const BoundTensor& x = builder_.bound.tensors[node_.inputs[data]];
  batch_ = x[0];
  hidden_ = op_.hidden;
  width_ = op_.projection > 0 ? op_.projection : op_.hidden;
  element_bytes_ = bytes_per_element(x.dtype);
  times_ = static_cast<std::uint32_t>(x[1]);
  directions_ = op_.bidirectional ? 2 : 1;
  layers_ = static_cast<std::uint32_t>(op_.layers);
  gates_ = gates_of(op_.cell);
  groups_ = op_.fused_gates ? 1 : gates_;
  input_pass_ = builder_.options.separate_backward ? Pass::backward_input : Pass::backward;
  weight_pass_ = builder_.options.separate_backward ? Pass::backward_weight : Pass::backward;
  const Parting parting = builder_.unrolling.parting(node_.inputs[data]);
  follows_time_ = parting.cut == Parting::Cut::time && parting.count / parting.per_time == times_;

  const Count cells = Count(op_.layers) * directions_ * times_;
  if ((cells * (cell_slots + 1)).value() >= std::numeric_limits<std::uint32_t>::max())
    fail(ErrorKind::unsupported, "node '{}': {} cells are too many to unroll", node_.name,
         cells.value());
  cells_left_ = static_cast<std::uint32_t>(cells.value());
  first_layer_left_ = directions_ * times_;
  hiddens_.assign(cells_left_, no_value);
  if (op_.cell == CellKind::lstm) cells_.assign(cells_left_, no_value);
  if (op_.projection > 0) unprojected_.assign(cells_left_, no_value);
  gate_values_.assign(gates_ > 1 ? cells_left_ : 0, {no_value, no_value, no_value, no_value});
  carry_hidden_.assign(std::size_t{layers_} * directions_, no_value);
  carry_cell_ = carry_hidden_;
}

RecurrentRun::Cell RecurrentRun::cell_at(std::uint32_t layer, std::uint32_t direction,
                                         std::uint32_t step) const {
  const std::uint32_t time = direction == 0 ? step : times_ - 1 - step;
  const std::uint32_t row = layer * directions_ + direction;
  return {layer, direction, step, time, row, row * times_ + time};
}

ValueId RecurrentRun::make(const Cell& cell, CellSlot slot, ValueKind kind, std::int64_t width) {
  const std::int64_t row = (Count(width) * element_bytes_).value();
  return builder_.writer.add(
      {.kind = kind,
       .tensor = node_.outputs[0],
       .part = times_ * directions_ + cell.index * cell_slots + static_cast<std::uint32_t>(slot),
       .bytes = (Count(batch_) * row).value(),
       .row_bytes = row});
}

void RecurrentRun::begin(const Cell& cell, Pass pass, LayerClass layer_class) {
  builder_.writer.begin({.node = id_,
                         .pass = pass,
                         .layer_class = layer_class,
                         .is_recomputed = is_recomputed_,
                         .time = cell.time + 1});
}

void RecurrentRun::pointwise(const Cell& cell, Pass pass, std::int64_t flop_per_number,
                             std::int64_t width, Ids reads, Ids writes) {
  begin(cell, pass, LayerClass::pointwise);
  for (const ValueId id : reads) read(id);
  for (const ValueId id : writes) {
    if (id != no_value) builder_.writer.writes(id);
  }
  builder_.writer.add_work((Count(batch_) * width * flop_per_number).value(), 0);
}

void RecurrentRun::read(ValueId id) {
  if (id != no_value) builder_.writer.reads(id);
}

void RecurrentRun::read(const ValueIds& ids) {
  for (std::uint32_t i = 0; i < ids.count; ++i) builder_.writer.reads(ids[i]);
}

TensorId RecurrentRun::own(const Cell& cell, std::size_t which) const {
  const std::size_t tensors =
      first_bias + static_cast<std::size_t>(op_.biases) + (op_.projection > 0 ? 1 : 0);
  return node_.inputs[node_.first_own + cell.row * tensors + which];
}

ValueIds RecurrentRun::gate_of(TensorId weight, std::uint32_t group, std::uint32_t groups) const {
  return groups == 1 ? builder_.values.of(weight) : builder_.values.piece(weight, group, groups);
}

// What the layer reads at this time: the node's input, or what all directions of the layer below
// have made.
void RecurrentRun::read_data(const Cell& cell) {
  if (cell.layer == 0) {
    const TensorId x = node_.inputs[data];
    return read(follows_time_ ? builder_.values.at(x, cell.time + 1) : builder_.values.of(x));
  }
  for (std::uint32_t direction = 0; direction < directions_; ++direction) {
    read(hiddens_[((cell.layer - 1) * directions_ + direction) * times_ + cell.time]);
  }
}

// A state before this step: of the step before, or the given one; empty where it is zero.
ValueIds RecurrentRun::before(const Cell& cell, std::uint32_t input,
                              const std::vector<ValueId>& states) const {
  if (cell.step > 0) return {states[cell_at(cell.layer, cell.direction, cell.step - 1).index], 1};
  if (input >= node_.first_own) return {};
  return builder_.values.piece(node_.inputs[input], cell.row, layers_ * directions_);
}

void RecurrentRun::forward(const Instance& instance, bool is_recomputed) {
  is_recomputed_ = is_recomputed;
  if (instance.time > 0) {
    for (std::uint32_t layer = 0; layer < layers_; ++layer)
      forward_cell(cell_at(layer, 0, instance.time - 1));
  } else {
    for (std::uint32_t layer = 0; layer < layers_; ++layer) {
      for (std::uint32_t direction = 0; direction < directions_; ++direction) {
        for (std::uint32_t step = 0; step < times_; ++step)
          forward_cell(cell_at(layer, direction, step));
      }
    }
  }
  is_recomputed_ = false;
  if (cells_left_ == 0) bind_last_states();
}

void RecurrentRun::forward_cell(const Cell& cell) {
  std::array<ValueId, 4> raw{no_value, no_value, no_value, no_value};
  const std::uint32_t raws = op_.cell == CellKind::gru ? 4 : gates_;
  for (std::uint32_t i = 0; i < raws; ++i) {
    // U_n h is kept for backward, in place of a fourth gate.
    const bool stays = op_.cell == CellKind::gru && i == 3 && builder_.mode == Mode::training;
    raw[i] = make(cell, slot(CellSlot::raw_0, i), stays ? ValueKind::saved : ValueKind::feature,
                  hidden_);
  }
  forward_products(cell, raw);
  switch (op_.cell) {
    case CellKind::lstm: forward_lstm(cell, raw); break;
    case CellKind::gru: forward_gru(cell, raw); break;
    default: forward_operation(cell, 1, {raw[0]}, {make_hidden(cell)});
  }
  --cells_left_;
}

void RecurrentRun::forward_products(const Cell& cell, const std::array<ValueId, 4>& raw) {
  const Count mac =
      Count(batch_) * (Count(size_of(own(cell, input_weight))) + size_of(own(cell, state_weight)));
  Count bias_flop;
  for (std::size_t i = 0; i < static_cast<std::size_t>(op_.biases); ++i)
    bias_flop += Count(batch_) * size_of(own(cell, first_bias + i));
  for (std::uint32_t group = 0; group < groups_; ++group) {
    begin(cell, Pass::forward, LayerClass::dense);
    read_data(cell);
    read(before(cell, first_state, hiddens_));
    for (std::size_t i = 0; i < first_bias + static_cast<std::size_t>(op_.biases); ++i)
      read(gate_of(own(cell, i), group, groups_));
    for (std::uint32_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != no_value && group_of(i) == group) builder_.writer.writes(raw[i]);
    }
    const std::int64_t share = mac.value() / groups_;
    builder_.writer.add_work((Count(share) * 2 + bias_flop.value() / groups_).value(), share);
  }
}

ValueId RecurrentRun::make_hidden(const Cell& cell) {
  const bool is_top = cell.layer + 1 == layers_;
  hiddens_[cell.index] =
      is_top ? builder_.values.of(node_.outputs[0])[cell.time * directions_ + cell.direction]
             : make(cell, CellSlot::hidden, ValueKind::feature, width_);
  return hiddens_[cell.index];
}

void RecurrentRun::forward_lstm(const Cell& cell, const std::array<ValueId, 4>& raw) {
  const ValueKind kept = builder_.mode == Mode::training ? ValueKind::saved : ValueKind::feature;
  std::array<ValueId, 4>& gate = gate_values_[cell.index];
  for (std::uint32_t i = 0; i < gates_; ++i) {
    gate[i] = make(cell, slot(CellSlot::gate_0, i), kept, hidden_);
    forward_operation(cell, i == 2 ? 1 : 3, {raw[i]}, {gate[i]});  // tanh, or the logistic
  }
  const auto [i, f, g, o] = gate;
  const auto feature = [&](CellSlot at) { return make(cell, at, ValueKind::feature, hidden_); };
  const ValueId kept_part = feature(CellSlot::term_0), new_part = feature(CellSlot::term_1);
  begin(cell, Pass::forward, LayerClass::pointwise);
  read(f);
  read(before(cell, first_cell, cells_));
  builder_.writer.writes(kept_part);
  builder_.writer.add_work((Count(batch_) * hidden_).value(), 0);
  forward_operation(cell, 1, {i, g}, {new_part});
  cells_[cell.index] = feature(CellSlot::cell);
  forward_operation(cell, 1, {kept_part, new_part}, {cells_[cell.index]});
  const ValueId tanh = feature(CellSlot::cell_tanh);
  forward_operation(cell, 1, {cells_[cell.index]}, {tanh});
  if (op_.projection == 0) return forward_operation(cell, 1, {o, tanh}, {make_hidden(cell)});
  unprojected_[cell.index] = feature(CellSlot::unprojected);
  forward_operation(cell, 1, {o, tanh}, {unprojected_[cell.index]});
  forward_projection(cell, unprojected_[cell.index]);
}

void RecurrentRun::forward_projection(const Cell& cell, ValueId unprojected) {
  const TensorId weight = own(cell, first_bias + static_cast<std::size_t>(op_.biases));
  begin(cell, Pass::forward, LayerClass::dense);
  read(unprojected);
  read(builder_.values.of(weight));
  builder_.writer.writes(make_hidden(cell));
  const Count mac = Count(batch_) * size_of(weight);
  builder_.writer.add_work((mac * 2).value(), mac.value());
}

void RecurrentRun::forward_gru(const Cell& cell, const std::array<ValueId, 4>& raw) {
  const ValueKind kept = builder_.mode == Mode::training ? ValueKind::saved : ValueKind::feature;
  std::array<ValueId, 4>& gate = gate_values_[cell.index];
  for (std::uint32_t i = 0; i < 3; ++i)
    gate[i] = make(cell, slot(CellSlot::gate_0, i), kept, hidden_);
  gate[3] = raw[3];
  const auto [r, z, n, q] = gate;
  const auto feature = [&](CellSlot at) { return make(cell, at, ValueKind::feature, hidden_); };
  const ValueId scaled = feature(CellSlot::term_0), sum = feature(CellSlot::term_1);
  forward_operation(cell, 3, {raw[0]}, {r});
  forward_operation(cell, 3, {raw[1]}, {z});
  forward_operation(cell, 1, {r, q}, {scaled});
  forward_operation(cell, 1, {raw[2], scaled}, {sum});
  forward_operation(cell, 1, {sum}, {n});
  const ValueId new_part = feature(CellSlot::term_2), kept_part = feature(CellSlot::spare);
  forward_operation(cell, 2, {z, n}, {new_part});
  begin(cell, Pass::forward, LayerClass::pointwise);
  read(z);
  read(before(cell, first_state, hiddens_));
  builder_.writer.writes(kept_part);
  builder_.writer.add_work((Count(batch_) * hidden_).value(), 0);
  forward_operation(cell, 1, {new_part, kept_part}, {make_hidden(cell)});
}

// The last states are the values of the last time step, under another name.
void RecurrentRun::bind_last_states() {
  std::vector<ValueId> hidden, cell;
  for (std::uint32_t layer = 0; layer < layers_; ++layer) {
    for (std::uint32_t direction = 0; direction < directions_; ++direction) {
      const Cell last = cell_at(layer, direction, times_ - 1);
      hidden.push_back(hiddens_[last.index]);
      if (op_.cell == CellKind::lstm) cell.push_back(cells_[last.index]);
    }
  }
  if (node_.outputs.size() > 1) builder_.values.bind(node_.outputs[1], std::move(hidden));
  if (node_.outputs.size() > 2) builder_.values.bind(node_.outputs[2], std::move(cell));
}

bool RecurrentRuns::takes(NodeId node) const {
  return builder_.unrolling.cuts_recurrent &&
         std::holds_alternative<Recurrent>(builder_.graph.nodes[node].op);
}

void RecurrentRuns::forward(const Instance& instance, bool is_recomputed) {
  std::unique_ptr<RecurrentRun>& run = runs_[instance.node];
  if (instance.time <= 1) run = std::make_unique<RecurrentRun>(builder_, instance.node);
  run->forward(instance, is_recomputed);
}

void RecurrentRuns::backward(const Instance& instance) {
  runs_.at(instance.node)->backward(instance);
}

}  // namespace strata
