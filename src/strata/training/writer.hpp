// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/checked.hpp"
#include "strata/training/program.hpp"

namespace strata {

/// Writes a Program: its values, then its steps with the values that each uses. A value that a step
/// names twice is one use. A step does not read what it wrote itself.
class ProgramWriter {
 public:
  explicit ProgramWriter(const BoundGraph& bound) { program_.bound = &bound; }

  ValueId add(const Value& value);
  Value& value(ValueId id) { return program_.values[id]; }
  const Value& value(ValueId id) const { return program_.values[id]; }

  /// Opens a step; the calls that follow belong to it.
  void begin(Step step);
  void reads(ValueId id, StepOperand as = {});
  void writes(ValueId id, StepOperand as = {});
  /// The step has an operand that is zero and has no memory.
  void lacks(StepOperand as);
  void add_work(std::int64_t flop, std::int64_t mac);

  std::size_t step_count() const { return program_.steps.size(); }
  Program finish(std::int64_t samples);

 private:
  Use& use_of(ValueId id, StepOperand as);
  void share(ValueId id, StepOperand as);

  Program program_;
  std::vector<std::uint32_t> last_use_;  // of each value, in program_.uses
};

}  // namespace strata
