// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/tensor_values.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace strata {

/// The gradient of each value that forward steps read. A weight's gradient is one value to which
/// every step that contributes adds (read and written). Each contribution to a feature's gradient
/// is a value; the second and every further one is added in a step of its own.
class Gradients {
 public:
  Gradients(ProgramWriter& writer, const BoundGraph& bound, Pass sum_pass)
      : writer_(writer), bound_(bound), sum_pass_(sum_pass) {}

  std::optional<ValueId> of(ValueId forward) const;

  /// A value for a gradient of it; nobody writes it yet.
  ValueId make(ValueId forward);

  /// The open step computes a gradient of the value. Call settle after the step.
  void write(ValueId forward, StepOperand as = {});
  void write(const ValueIds& forward, StepOperand as = {});
  /// Registers the gradients that the step wrote; may open steps that add them.
  void settle(std::uint32_t time);

  /// A complete gradient that exists already, perhaps under another name (a given one, an alias).
  void contribute(ValueId forward, ValueId gradient, std::uint32_t time);

 private:
  struct Contribution {
    ValueId forward;
    ValueId gradient;
  };
  void set(ValueId forward, ValueId gradient);
  void add_up(ValueId forward, ValueId a, ValueId b, ValueId sum, std::uint32_t time);

  ProgramWriter& writer_;
  const BoundGraph& bound_;
  Pass sum_pass_;
  std::vector<ValueId> gradients_;  // by forward value
  std::vector<Contribution> pending_;
};

}  // namespace strata
