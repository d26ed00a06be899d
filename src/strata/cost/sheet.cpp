// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

#include <algorithm>
#include <vector>

namespace strata {
namespace {

// Up to so many inputs are compared pair by pair; beyond, repeated ones are found by sorting.
constexpr std::size_t few_inputs = 16;

bool has_repeats(std::vector<TensorId> ids) {
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

}  // namespace

PassSheet& PassSheet::add_flop(Count count) {
  pass_->flop = (count + pass_->flop).value();
  return *this;
}

PassSheet& PassSheet::add_mac(Count count) {
  pass_->mac = (count + pass_->mac).value();
  return add_flop(2 * count);
}

void PassSheet::enter(Operand operand, AccessMode mode, std::size_t index, std::int64_t bytes) {
  pass_->accesses.push_back({operand, mode, static_cast<std::uint32_t>(index), bytes});
}

Access* PassSheet::find(Operand operand, std::size_t index) const {
  for (Access& access : pass_->accesses) {
    if (access.operand == operand && access.index == index && access.mode == AccessMode::read) {
      return &access;
    }
  }
  return nullptr;
}

void PassSheet::read(Operand operand, std::size_t index, std::int64_t bytes) {
  if (Access* const earlier = find(operand, index)) {
    earlier->bytes = bytes;  // what was a part so far is now the whole
  } else {
    enter(operand, AccessMode::read, index, bytes);
  }
}

void PassSheet::read_part(Operand operand, std::size_t index, Count bytes,
                          std::int64_t whole_bytes) {
  if (bytes == 0) return;
  if (Access* const earlier = find(operand, index)) {
    earlier->bytes = std::min((bytes + earlier->bytes).value(), whole_bytes);
  } else {
    enter(operand, AccessMode::read, index, std::min(bytes.value(), whole_bytes));
  }
}

PassSheet& PassSheet::reads_input(std::size_t index) {
  read(Operand::input, sheet_->first_use(index), sheet_->input(index).bytes);
  return *this;
}

PassSheet& PassSheet::reads_output(std::size_t index) {
  read(Operand::output, index, sheet_->output(index).bytes);
  return *this;
}

PassSheet& PassSheet::reads_saved(std::size_t index) {
  read(Operand::saved, index, sheet_->cost_.saved[index].bytes);
  return *this;
}

PassSheet& PassSheet::reads_output_gradient(std::size_t index) {
  read(Operand::output_gradient, index, sheet_->output(index).bytes);
  return *this;
}

PassSheet& PassSheet::reads_output_gradients() {
  for (std::size_t i = 0; i < sheet_->output_count(); ++i) {
    if (sheet_->output(i).wants_gradient) reads_output_gradient(i);
  }
  return *this;
}

PassSheet& PassSheet::reads_all_inputs() {
  const std::size_t count = sheet_->input_count();
  if (count > few_inputs && !has_repeats(sheet_->node_.inputs)) {
    for (std::size_t i = 0; i < count; ++i) {
      enter(Operand::input, AccessMode::read, i, sheet_->input(i).bytes);
    }
    return *this;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (sheet_->first_use(i) == i)
      enter(Operand::input, AccessMode::read, i, sheet_->input(i).bytes);
  }
  return *this;
}

PassSheet& PassSheet::reads_part_of_input(std::size_t index, Count bytes) {
  read_part(Operand::input, sheet_->first_use(index), bytes, sheet_->input(index).bytes);
  return *this;
}

PassSheet& PassSheet::reads_part_of_output_gradient(Count bytes) {
  read_part(Operand::output_gradient, 0, bytes, sheet_->output().bytes);
  return *this;
}

PassSheet& PassSheet::writes_input(std::size_t index) {
  enter(Operand::input, AccessMode::write, sheet_->first_use(index), sheet_->input(index).bytes);
  return *this;
}

PassSheet& PassSheet::writes_saved(std::size_t index) {
  enter(Operand::saved, AccessMode::write, index, sheet_->cost_.saved[index].bytes);
  return *this;
}

PassSheet& PassSheet::writes_all_outputs() {
  for (std::size_t i = 0; i < sheet_->output_count(); ++i) {
    enter(Operand::output, AccessMode::write, i, sheet_->output(i).bytes);
  }
  return *this;
}

PassSheet& PassSheet::writes_input_gradient(std::size_t index) {
  if (pass_->accesses.empty()) pass_->accesses.reserve(4);
  enter(Operand::input_gradient, AccessMode::write, index, sheet_->input(index).bytes);
  return *this;
}

CostSheet::CostSheet(const BoundGraph& bound, NodeId node, Mode mode)
    : bound_(bound), node_(bound.graph->nodes[node]), mode_(mode) {
  const auto wants = [&bound](TensorId id) { return bound.tensors[id].wants_gradient; };
  has_backward_ = is_training() && std::any_of(node_.outputs.begin(), node_.outputs.end(), wants) &&
                  std::any_of(node_.inputs.begin(), node_.inputs.end(), wants);
}

std::size_t CostSheet::first_use(std::size_t input) const {
  const auto first = std::find(node_.inputs.begin(), node_.inputs.end(), node_.inputs[input]);
  return static_cast<std::size_t>(first - node_.inputs.begin());
}

bool CostSheet::wants_gradient(std::size_t input) const {
  return has_backward_ && input < input_count() && this->input(input).wants_gradient;
}

bool CostSheet::wants_any_gradient(std::size_t first, std::size_t end) const {
  for (std::size_t i = first; i < end; ++i) {
    if (wants_gradient(i)) return true;
  }
  return false;
}

bool CostSheet::is_parameter(std::size_t input) const {
  return bound_.graph->tensors[node_.inputs[input]].kind == TensorKind::parameter;
}

PassSheet CostSheet::forward_of_all() {
  cost_.forward.accesses.reserve(input_count() + output_count() + 1);  // one more for what is saved
  PassSheet pass = forward();
  pass.reads_all_inputs().writes_all_outputs();
  return pass;
}

std::optional<PassSheet> CostSheet::gradient_of(std::size_t input) {
  if (!wants_gradient(input)) return std::nullopt;
  return pass_of(input).writes_input_gradient(input);
}

void CostSheet::alias_gradient_of(std::size_t input) {
  if (!wants_gradient(input)) return;
  pass_of(input).enter(Operand::input_gradient, AccessMode::alias, input, 0);
}

void CostSheet::alias() {
  forward().enter(Operand::output, AccessMode::alias, 0, 0);
  alias_gradient_of(0);
}

std::size_t CostSheet::save(std::string_view name, Count bytes) {
  const std::size_t index = hand_over(name, bytes);
  forward().writes_saved(index);
  return index;
}

std::size_t CostSheet::hand_over(std::string_view name, Count bytes) {
  STRATA_CHECK(has_backward_, "nothing is saved for a backward pass that does not exist");
  cost_.saved.push_back({name, bytes.value()});
  return cost_.saved.size() - 1;
}

std::int64_t statistic_bytes(DType dtype) {
  return std::max<std::int64_t>(4, bytes_per_element(dtype));
}

}  // namespace strata
