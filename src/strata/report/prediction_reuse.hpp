// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/prediction_summary.hpp"

#include <vector>

namespace strata {

/// Reuse offered by the program and captured by the plan, by scope.
std::vector<ScopeReuse> reuse_by_scope(const Program& program, const Plan& plan);

}  // namespace strata
