// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"

namespace strata {

/// The most that a framework's allocator holds at once: weights, gradients, optimizer states, what
/// forward saves for backward in the types that autocast gives it, and what the step at hand makes.
/// Values that `never_stored` names (FrameworkOperations) take nothing.
std::int64_t allocated_memory_bytes(const Program& program, const Framework& framework,
                                    const FrameworkOptions& options,
                                    const std::vector<bool>& never_stored = {});

/// What of it activations take: nothing that stays from one iteration to the next.
struct ActivationMemory {
  std::vector<std::int64_t> saved_by_node;   ///< from its forward step until backward
  std::vector<std::int64_t> scores_by_node;  ///< of that, scores of attention
  std::int64_t saved_by_loss = 0;
  std::vector<std::int64_t> at_steps;  ///< while each step runs, with what steps make for others
};
ActivationMemory activation_memory(const Program& program, const Framework& framework,
                                   const FrameworkOptions& options,
                                   const std::vector<bool>& never_stored = {});

}  // namespace strata
