// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/cost.hpp"

namespace strata {

/// The costs of a recording's layers: its operations say what they compute, read and write, and
/// what forward makes that backward reads.
std::vector<NodeCost> recorded_costs(const BoundGraph& bound);

}  // namespace strata
