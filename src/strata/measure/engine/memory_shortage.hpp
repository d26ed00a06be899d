// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/memory_plan.hpp"

#include <string>

namespace strata {

/// For people: how much a network needs, which layers need most of it, and the largest batch whose
/// memory plan fits into what is there. `abilities` are those of the batch that does not fit.
std::string memory_shortage_text(const BoundGraph& bound, const TrainingOptions& options,
                                 const std::vector<NodeAbility>& abilities,
                                 std::int64_t needed_bytes, std::int64_t free_bytes);

}  // namespace strata
