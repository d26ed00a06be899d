// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"
#include "strata/predict/expected/kernel_times.hpp"

#include <span>

namespace strata {

/// What a framework's allocator holds while each step runs: weights, gradients, optimizer states,
/// what forward saves for backward in the types that autocast gives it, and what the step at hand
/// makes. Values that `never_stored` names (FrameworkOperations) take nothing.
std::vector<std::int64_t> allocated_bytes(const Program& program, const Framework& framework,
                                          const FrameworkOptions& options,
                                          const std::vector<bool>& never_stored = {});

/// The same with what libraries take for the kernels of each step while they run.
void add_scratch(std::vector<std::int64_t>& bytes_at_steps, const FrameworkOperations& operations,
                 std::span<const KernelTime> kernels);

/// The most that it holds at once.
std::int64_t allocated_memory_bytes(const Program& program, const Framework& framework,
                                    const FrameworkOptions& options,
                                    const FrameworkOperations& operations,
                                    std::span<const KernelTime> kernels);

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
