// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_origins.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// The iterations in a recording.
namespace strata {

struct FoundSteps {
  /// Per kernel: in which step, from 0; no_index: in none.
  std::vector<std::size_t> step_of_kernel;
  std::size_t count = 0;
  std::string how;  ///< for people: by what they were told apart; empty: none were found
  std::vector<TimeSpan> spans;  ///< from the first kernel of a step to its last, one per step
};

/// By ranges that mark them ("ProfilerStep#3"), else by executions of a function that XLA compiled,
/// of those the one whose kernels took longest, else by a sequence of kernels that repeats: the
/// shortest one of which two copies or more end the recording and make up half of it.
FoundSteps find_steps(const Recording& recording, const KernelOrigins& origins);

/// The step of median length, of an even number the shorter; no_index where there is none.
std::size_t median_step(const FoundSteps& steps);

/// The length of the shortest piece that, repeated, ends the sequence and fills at least half of
/// it, two copies or more; 0: there is none.
std::size_t repeated_length(const std::vector<std::uint64_t>& sequence);

}  // namespace strata
