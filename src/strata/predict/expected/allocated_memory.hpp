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

}  // namespace strata
