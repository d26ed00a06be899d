// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace strata {

/// Programs of one network that differ in the batch alone: their steps and uses are the same, and
/// all their bytes and FLOP are of the form a + b · batch. Such a program is made from two others
/// in a fraction of the time that make_program takes, but for rows of values: they are rounded, and
/// only plans of the on-chip memory ask for them.
class BatchPrograms {
 public:
  struct AtBatch {
    std::int64_t batch = 0;
    Program program;
  };
  /// From programs at three different batches: two say what all others are, the third checks it.
  /// Nothing: their batches change more than that.
  static std::optional<BatchPrograms> from(std::array<AtBatch, 3> made);

  /// As make_program would make it of the graph at that batch, which must outlive it. A row of a
  /// value is the whole value.
  Program at(const BoundGraph& bound, std::int64_t batch) const;

 private:
  /// What one more sample adds to a step.
  struct StepSlope {
    std::int64_t flop = 0, mac = 0;
  };
  AtBatch base_;
  std::vector<std::int64_t> value_bytes_;  // that one more sample adds
  std::vector<StepSlope> steps_;
  std::int64_t samples_ = 0;
};

}  // namespace strata
