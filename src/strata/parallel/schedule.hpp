// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/strategy.hpp"

#include <cstdint>
#include <vector>

/// In which order a stage of a pipeline works on its micro-batches.
namespace strata {

enum class TaskKind : std::uint8_t {
  forward,
  backward,          ///< all of it, or where gradients of weights are apart, that of inputs
  weight_gradients,  ///< of zero-bubble schedules
};

struct Task {
  TaskKind kind = TaskKind::forward;
  std::uint32_t chunk = 0;  ///< of the rank: 0 … v − 1
  std::uint32_t micro = 0;

  bool operator==(const Task&) const = default;
};

/// The tasks of one stage in order: every micro-batch once forward and once backward through every
/// chunk.
std::vector<Task> tasks_of(const Strategy& strategy, std::int64_t stage);

/// The most micro-batches, each of one chunk, that lie between forward and backward of a stage at
/// once.
std::int64_t most_in_flight(const Strategy& strategy, std::int64_t stage);

}  // namespace strata
