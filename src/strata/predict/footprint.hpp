// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// The peak of off-chip (device) memory.
struct Footprint {
  std::int64_t peak_bytes = 0;
  StepId step = 0;              ///< the first at which it is reached
  std::int64_t kept_bytes = 0;  ///< of the peak: weights, states and constants, there all the time
};

/// The steps [from, to) during which a value is allocated there; none when from = to.
struct ValueLife {
  std::size_t from = 0;
  std::size_t to = 0;
};

/// Of every value. What is kept between iterations (weights, states, constants) is there from the
/// first step to the last; a given value until it was used last; a result from when it is made;
/// everything else from its first use to its last.
std::vector<ValueLife> value_lives(const Program& program);

/// The most that values take at one step. One value, one place: no allocator's rounding, no work
/// space of kernels.
Footprint footprint_of(const Program& program);

}  // namespace strata
