// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/ceilings/cpu/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>

namespace strata::cpu {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using OwnedTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

OwnedTopology loaded_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0)
    fail(ErrorKind::environment, "hwloc cannot look at this computer");
  OwnedTopology owned(topology);
  // Devices are not asked for, and what hwloc has to say of them it would say on standard error.
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(topology) != 0)
    fail(ErrorKind::environment, "hwloc cannot read the cores and caches of this computer");
  return owned;
}

std::vector<int> processors_in(hwloc_const_cpuset_t set, std::span<const int> allowed) {
  std::vector<int> processors;
  for (const int processor : allowed) {
    if (hwloc_bitmap_isset(set, static_cast<unsigned>(processor)) != 0)
      processors.push_back(processor);
  }
  return processors;
}

/// Of each object of a type that has processors of ours: what `take` does with both.
template <class Take>
void for_each_object(hwloc_topology_t topology, hwloc_obj_type_t type, std::span<const int> allowed,
                     const Take& take) {
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
    std::vector<int> processors = processors_in(object->cpuset, allowed);
    if (!processors.empty()) take(*object, std::move(processors));
  }
}

}  // namespace

Topology topology_of(std::span<const int> allowed) {
  const OwnedTopology owned = loaded_topology();
  hwloc_topology_t found = owned.get();
  Topology topology;
  topology.source = "hwloc " HWLOC_VERSION;
  for_each_object(found, HWLOC_OBJ_CORE, allowed, [&](const hwloc_obj&, std::vector<int> mine) {
    topology.cores.push_back(std::move(mine));
  });
  // Where the system tells of no cores, processors take their place.
  if (topology.cores.empty()) {
    for (const int processor : allowed) topology.cores.push_back({processor});
  }
  std::sort(topology.cores.begin(), topology.cores.end());
  topology.packages = 0;
  for_each_object(found, HWLOC_OBJ_PACKAGE, allowed,
                  [&](const hwloc_obj&, const std::vector<int>&) { ++topology.packages; });
  topology.packages = std::max<std::int64_t>(topology.packages, 1);
  std::vector<CacheInstance> caches;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                      HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE}) {
    for_each_object(found, type, allowed, [&](const hwloc_obj& object, std::vector<int> mine) {
      const auto& cache = object.attr->cache;
      if (cache.size > 0)
        caches.push_back({static_cast<int>(cache.depth), static_cast<std::int64_t>(cache.size),
                          std::move(mine)});
    });
  }
  topology.caches = cache_levels(caches, topology.cores);
  for_each_object(
      found, HWLOC_OBJ_NUMANODE, allowed, [&](const hwloc_obj& object, std::vector<int> mine) {
        topology.nodes.push_back({static_cast<int>(object.os_index), std::move(mine),
                                  static_cast<std::int64_t>(object.attr->numanode.local_memory)});
      });
  return topology;
}

}  // namespace strata::cpu
