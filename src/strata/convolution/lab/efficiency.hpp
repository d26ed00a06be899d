// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/strategy.hpp"
#include "strata/gpu/range_counters.hpp"

#include <span>
#include <vector>

namespace strata {

/// What was counted in ranges, by the role of each. A role that comes several times is one, each
/// time weighted with the instructions executed in it.
std::vector<ConvEfficiency> efficiencies_by_role(const CounterTable& table,
                                                 std::span<const KernelRole> roles);

}  // namespace strata
