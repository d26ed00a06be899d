// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/sweep.hpp"

namespace strata {

/// What the points from `first` on will take, from a few that are computed to find out.
double estimated_time_s(const Sweep& sweep, std::int64_t first, std::int64_t workers);

}  // namespace strata
