// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace strata::cpu_training {

/// Reads a number of every line of a row that is worked on next together with the row behind it:
/// side by side they would be fetched in turns, and a processor foresees a walk in the order of
/// memory better.
inline void read_lines(const float* row, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(float);
  for (std::int64_t i = 0; i < count; i += line) {
    static_cast<void>(*static_cast<const volatile float*>(row + i));
  }
}

}  // namespace strata::cpu_training
