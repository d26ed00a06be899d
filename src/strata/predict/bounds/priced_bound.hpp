// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/bounds/keep_intervals.hpp"

#include <cstdint>
#include <vector>

namespace strata {

/// Some steps are marked. What moves while a marked step waits or runs has its price, what moves
/// in the others is free: these are the bytes that must move at a price, whatever is kept, loaded
/// ahead or written back late. What moves after the last step has its price too. All steps marked:
/// a bound on the traffic.
std::int64_t least_priced_bytes(const Program& program, const KeepIntervals& keep,
                                const std::vector<bool>& is_marked, std::int64_t capacity_bytes,
                                std::int64_t granularity_bytes = 0);

}  // namespace strata
