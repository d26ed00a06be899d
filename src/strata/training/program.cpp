// SPDX-License-Identifier: Apache-2.0
#include "strata/training/program.hpp"

#include "strata/base/checked.hpp"

#include <algorithm>

namespace strata {
namespace {

std::int64_t bytes_of_uses(const Program& program, StepId step, bool written) {
  std::int64_t bytes = 0;
  for (const Use& use : program.uses_of(step)) {
    if (written ? use.writes : use.reads)
      bytes = checked_add(bytes, program.values[use.value].bytes);
  }
  return bytes;
}

}  // namespace

std::span<const SharedOperand> Program::shared_operands_of(StepId step) const {
  const auto [first, end] = std::equal_range(
      shared_operands.begin(), shared_operands.end(), SharedOperand{.step = step},
      [](const SharedOperand& a, const SharedOperand& b) { return a.step < b.step; });
  return {first, end};
}

ValueId Program::value_at(StepId step, StepOperand operand) const {
  for (const Use& use : uses_of(step)) {
    if (use.is() == operand) return use.value;
  }
  for (const SharedOperand& shared : shared_operands_of(step)) {
    if (shared.is == operand) return shared.value;
  }
  return no_value;
}

std::int64_t Program::read_bytes(StepId step) const { return bytes_of_uses(*this, step, false); }
std::int64_t Program::write_bytes(StepId step) const { return bytes_of_uses(*this, step, true); }

Program::Program() = default;
Program::Program(const Program& other) = default;
Program::Program(Program&& other) noexcept = default;
Program& Program::operator=(const Program& other) = default;
Program& Program::operator=(Program&& other) noexcept = default;
Program::~Program() = default;

}  // namespace strata
