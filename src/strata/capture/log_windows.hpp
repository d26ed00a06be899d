// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <span>
#include <vector>

namespace strata {

/// Cuts a recording to these spans: device work that was launched within them, even if it ran
/// later, and the calls, ranges and allocations within them. Spans are in order and disjoint.
void keep_windows(Recording& recording, std::span<const TimeSpan> windows);

/// The iterations of a program, seen in the kernels that it launches again and again: spans from
/// the launch of the first kernel of an iteration to that of the next one's. Empty when nothing
/// repeats.
std::vector<TimeSpan> repeated_steps(const Recording& recording);

}  // namespace strata
