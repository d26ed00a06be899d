// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/cost.hpp"

namespace strata {

/// Of the layers of a recording: what its operations compute, read and write, and what forward
/// makes that backward reads.
std::vector<NodeCost> recorded_costs(const BoundGraph& bound);

}  // namespace strata
