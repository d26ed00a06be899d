// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/prediction_summary.hpp"
#include "strata/training/reuse.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace strata {

/// Reuse offered by the program and captured by the plan, by scope.
std::vector<ScopeReuse> reuse_by_scope(const Program& program, const Plan& plan);

/// Bytes of reuse that need at most this capacity, each by itself, by scope (adjacent and block:
/// what the two layers need at the same time).
std::array<std::int64_t, reuse_scopes> reuse_that_fits(const Program& program,
                                                       std::int64_t capacity_bytes);

}  // namespace strata
