// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/simulate.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>

namespace strata {

/// What the ranks of an iteration do when, as data of a document; null without events. Each stage
/// has a lane of what its kernels do and wait for, which is never empty and never two things at
/// once, and one of the communication beside them. Of a lane with more events than there is room
/// for, the time is cut into equal spans, and a slice says how much of its span a key takes. Of
/// more stages than `most_stages`, so many are there, evenly from the first to the last. A lane has
/// at most `most_slices` over the number of stages that are there.
nlohmann::ordered_json parallel_timeline_json(const RankIteration& iteration,
                                              std::size_t most_slices = 48'000,
                                              std::size_t most_stages = 32);

}  // namespace strata
