// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <span>
#include <vector>

namespace strata {

/// Leaves of a recording what was asked of the device within these spans, however late the device
/// did it, and the calls, ranges and allocations within them. Spans are in order and apart.
void keep_windows(Recording& recording, std::span<const TimeSpan> windows);

/// The iterations of a program, seen in the kernels that it launches again and again: spans from
/// the launch of the first kernel of an iteration to that of the next one's. Empty when nothing
/// repeats.
std::vector<TimeSpan> repeated_steps(const Recording& recording);

}  // namespace strata
