// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/bounds/keep_intervals.hpp"

#include <cstdint>
#include <vector>

namespace strata {

/// A lower bound on the bytes that must move during marked steps, for every choice of what is kept,
/// prefetched or written back late. Bytes that move during a marked step, or after the last step,
/// cost one each; bytes that move during other steps are free. With all steps marked it is a bound
/// on the traffic.
std::int64_t least_priced_bytes(const Program& program, const KeepIntervals& keep,
                                const std::vector<bool>& is_marked, std::int64_t capacity_bytes,
                                std::int64_t granularity_bytes = 0);

}  // namespace strata
