// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/ceilings/cpu/bandwidth_memory.hpp"
#include "strata/measure/ceilings/cpu/cpu_ceilings.hpp"

#include <vector>

namespace strata::cpu {

/// Bandwidth over the size of the working set: the levels show as steps.
void measure_curves(const Bench& bench, BandwidthMemory& memory, const Say& say, Machine& machine);

/// From the cores of each memory node to the memory of each other one. Nothing with one node.
void measure_nodes(const Bench& bench, const CpuUnderTest& tested, BandwidthMemory& memory,
                   const Say& say, Machine& machine);

/// For each thread whose processor is of node `reader`: the number of a thread of node `owner`,
/// whose memory it shall read, taken in turn; -1 for all others.
std::vector<int> owners_across_nodes(std::span<const int> processors, const NumaNode& reader,
                                     const NumaNode& owner);

}  // namespace strata::cpu
