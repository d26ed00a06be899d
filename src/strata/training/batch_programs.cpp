// SPDX-License-Identifier: Apache-2.0
#include "strata/training/batch_programs.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

bool has_same_uses(const Program& a, const Program& b) {
  const auto is_same_use = [](const Use& one, const Use& other) {
    return one.value == other.value && one.reads == other.reads && one.writes == other.writes &&
           one.is() == other.is();
  };
  const auto is_same_operand = [](const SharedOperand& one, const SharedOperand& other) {
    return one.step == other.step && one.is == other.is && one.value == other.value;
  };
  return std::equal(a.uses.begin(), a.uses.end(), b.uses.begin(), b.uses.end(), is_same_use) &&
         std::equal(a.shared_operands.begin(), a.shared_operands.end(), b.shared_operands.begin(),
                    b.shared_operands.end(), is_same_operand);
}

/// But for sizes.
bool is_same_program(const Program& a, const Program& b) {
  const auto is_same_step = [](const Step& one, const Step& other) {
    return one.node == other.node && one.pass == other.pass &&
           one.layer_class == other.layer_class && one.is_gradient_sum == other.is_gradient_sum &&
           one.is_recomputed == other.is_recomputed && one.time == other.time &&
           one.first_use == other.first_use;
  };
  const auto is_same_value = [](const Value& one, const Value& other) {
    return one.kind == other.kind && one.is_given == other.is_given &&
           one.is_result == other.is_result && one.tensor == other.tensor && one.part == other.part;
  };
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), is_same_step) &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    is_same_value) &&
         a.roots == b.roots && a.gradients == b.gradients && has_same_uses(a, b);
}

bool has_same_sizes(const Program& a, const Program& b) {
  return a.samples == b.samples &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(),
                    [](const Step& one, const Step& other) {
                      return one.flop == other.flop && one.mac == other.mac;
                    }) &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                    [](const Value& one, const Value& other) { return one.bytes == other.bytes; });
}

}  // namespace

std::optional<BatchPrograms> BatchPrograms::from(std::array<AtBatch, 3> made) {
  const Program& near = made[0].program;
  const Program& far = made[1].program;
  if (!is_same_program(near, far) || !is_same_program(near, made[2].program)) return std::nullopt;
  const std::int64_t distance = made[1].batch - made[0].batch;
  BatchPrograms all;
  for (std::size_t i = 0; i < near.values.size(); ++i)
    all.value_bytes_.push_back((far.values[i].bytes - near.values[i].bytes) / distance);
  for (std::size_t i = 0; i < near.steps.size(); ++i)
    all.steps_.push_back({(far.steps[i].flop - near.steps[i].flop) / distance,
                          (far.steps[i].mac - near.steps[i].mac) / distance});
  all.samples_ = (far.samples - near.samples) / distance;
  all.base_ = std::move(made[0]);
  for (const std::size_t i : {1, 2}) {
    const AtBatch& one = made[i];
    if (!has_same_sizes(all.at(*one.program.bound, one.batch), one.program)) return std::nullopt;
  }
  all.base_.program.bound = nullptr;
  return all;
}

Program BatchPrograms::at(const BoundGraph& bound, std::int64_t batch) const {
  Program program = base_.program;
  program.bound = &bound;
  const std::int64_t more = batch - base_.batch;
  for (std::size_t i = 0; i < value_bytes_.size(); ++i) {
    Value& value = program.values[i];
    value.bytes += more * value_bytes_[i];
    value.row_bytes = value.bytes;
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    program.steps[i].flop += more * steps_[i].flop;
    program.steps[i].mac += more * steps_[i].mac;
  }
  program.samples += more * samples_;
  return program;
}

}  // namespace strata
