// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/plain_vector_loops.hpp"

#include <cmath>
#include <vector>

/// What tests of loops share.
namespace strata::cpu_training {

/// The loops that this CPU runs, and those of a build without Highway.
inline std::vector<VectorLoops<float>> both_loops() {
  return {vector_loops<float>(), PlainLoops<float>::table(std::make_index_sequence<unary_kinds>{})};
}

/// Numbers with a mean that is not zero, other ones for each seed.
inline std::vector<float> some_numbers(std::size_t count, float seed) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = seed + std::sin(seed * 7 + static_cast<float>(i) * 1.7F);
  }
  return numbers;
}

inline constexpr std::size_t row_lengths[] = {1, 3, 31, 32, 33, 64, 100, 257};

}  // namespace strata::cpu_training
