// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <cstdint>
#include <vector>

/// How often the arithmetic of a step uses each byte that the step touches: its reuse frequency.
/// Arithmetic intensity divides by the bytes that move; reuse frequency divides by the bytes that
/// exist, so that it says what a layer offers to any memory, whatever that memory keeps.
namespace strata {

/// What an operation is: the thesis counts a multiply-add as one.
enum class CountMac : std::uint8_t { as_two, as_one };

/// rf(t, l): of one value of the step.
struct ValueReuse {
  ValueId value = 0;
  std::int64_t bytes = 0;
  double frequency = 0;  ///< operations of the step per byte of the value
};

/// rf(l): of all its values together.
struct StepReuse {
  StepId step = 0;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;  ///< of all values that it touches, each once
  std::vector<ValueReuse> values;

  /// Operations per byte; 0 for a step that touches nothing.
  double frequency() const;
  /// min(rf · bandwidth, peak): the modified roofline.
  double attainable_per_s(double peak_per_s, double bytes_per_s) const;
};

/// Of every step with operations, in the order of the program. All time steps of a recurrent layer
/// are alike: the first stands for them.
std::vector<StepReuse> reuse_frequencies(const Program& program, CountMac count);

}  // namespace strata
