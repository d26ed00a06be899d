// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/measure_training.hpp"

namespace strata {

/// Beside the occupancy that was counted: what the launches of each row's kernels allow, and the
/// share of their time in which registers, shared memory or the size of the block limit it. Columns
/// of the profile's counters; nothing is added where none were read or no kernel was traced.
void add_occupancy_limits(TrainingMeasurement& measured);

}  // namespace strata
