// SPDX-License-Identifier: Apache-2.0
// Stands for hwloc_topology.cpp in a build without hwloc.
#include "strata/measure/ceilings/cpu/topology.hpp"

namespace strata::cpu {

Topology topology_of(std::span<const int> allowed) { return topology_from_sysfs("/", allowed); }

}  // namespace strata::cpu
