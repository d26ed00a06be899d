// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/cluster.hpp"

/// How long collectives take among some ranks of a cluster.
namespace strata {

/// Ranks that talk to one another: every `stride`-th of the cluster, `size` of them. All groups of
/// the same kind talk at the same time.
struct RankGroup {
  std::int64_t size = 1;
  std::int64_t stride = 1;

  bool operator==(const RankGroup&) const = default;
};

/// Where the ranks of a group lie.
struct GroupPlaces {
  std::int64_t per_node = 1;  ///< of one group
  std::int64_t nodes = 1;     ///< that it lies in
};
GroupPlaces places_of(const Cluster& cluster, const RankGroup& group);
/// Whether it has the network for what it exchanges; else the links inside a node.
bool leaves_node(const Cluster& cluster, const RankGroup& group);

/// Bytes that each rank sends: of an all-reduce, 2·S·(n − 1)/n; of a gather, a scatter and an
/// all-to-all half as many, where S is the whole tensor.
double sent_bytes(CollectiveKind kind, std::int64_t ranks, double bytes);

/// Of `bytes`, the whole tensor. Measured times where the cluster has them; else the shortest of
/// ring and tree by latency and bandwidth. Nothing is sent among one rank.
double collective_time_s(const Cluster& cluster, const RankGroup& group, CollectiveKind kind,
                         double bytes);

/// Every rank of the group sends `bytes` to the next one, all at the same time.
double ring_step_time_s(const Cluster& cluster, const RankGroup& group, double bytes);

}  // namespace strata
