// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata {
namespace {

// What a collective takes besides its steps (machine/cluster.cpp); and what a tree takes per level
// over a network: 2.3 µs more than a step of a ring, as in NCCL's own model (tuning.cc).
constexpr double base_s = 52e-6;
constexpr double tree_network_hop_s = 7.9e-6;

/// A ring of few ranks uses fewer of the links: measured 195, 220 and 230 GB/s on 2, 4 and 8 A100.
double share_of_links(std::int64_t ranks) {
  if (ranks >= 8) return 1;
  return ranks >= 4 ? 220.0 / 230 : 195.0 / 230;
}

/// Between sizes the logarithm of the time is linear in that of the size; beyond the largest the
/// rate stays, below the smallest the time.
double measured_time_s(const MeasuredCollective& measured, double bytes) {
  const auto& points = measured.points;
  if (bytes <= points.front().bytes) return points.front().time_s;
  if (bytes >= points.back().bytes) return points.back().time_s * bytes / points.back().bytes;
  const auto above = std::lower_bound(
      points.begin(), points.end(), bytes,
      [](const MeasuredCollective::Point& point, double size) { return point.bytes < size; });
  const auto below = above - 1;
  const double along = std::log(bytes / below->bytes) / std::log(above->bytes / below->bytes);
  return below->time_s * std::pow(above->time_s / below->time_s, along);
}

const MeasuredCollective* find_measured(const Cluster& cluster, CollectiveKind kind,
                                        std::int64_t ranks) {
  for (const MeasuredCollective& one : cluster.collectives) {
    if (one.kind == kind && one.ranks == ranks && !one.points.empty()) return &one;
  }
  return nullptr;
}

double rate_inside(const Cluster& cluster, std::int64_t ranks) {
  return cluster.inside.reached_bytes_per_s * share_of_links(ranks);
}

/// All NICs of a node serve all its devices: a group with several ranks in a node has the NICs of
/// all of them, as the other groups have theirs.
double rate_between(const Cluster& cluster, const GroupPlaces& places) {
  const double of_node =
      cluster.between->reached_bytes_per_s * static_cast<double>(places.per_node);
  return places.per_node > 1 ? std::min(of_node, rate_inside(cluster, places.per_node)) : of_node;
}

double ring_steps(CollectiveKind kind, std::int64_t ranks) {
  const auto steps = static_cast<double>(ranks - 1);
  return kind == CollectiveKind::all_reduce ? 2 * steps : steps;
}

/// One ring through all ranks: as fast as its slowest link.
double ring_time_s(const Cluster& cluster, const GroupPlaces& places, const RankGroup& group,
                   CollectiveKind kind, double bytes) {
  const double steps = ring_steps(kind, group.size);
  const double volume = sent_bytes(kind, group.size, bytes);
  if (places.nodes == 1)
    return base_s + steps * cluster.inside.hop_s + volume / rate_inside(cluster, group.size);
  const double hops_between = ring_steps(kind, places.nodes);
  return base_s + hops_between * cluster.between->hop_s +
         (steps - hops_between) * cluster.inside.hop_s + volume / rate_between(cluster, places);
}

/// Up a tree of nodes and down again; within a node as in a ring.
double tree_time_s(const Cluster& cluster, const GroupPlaces& places, const RankGroup& group,
                   double bytes) {
  const auto inside = static_cast<double>(places.per_node - 1);
  const double levels = std::ceil(std::log2(static_cast<double>(places.nodes)));
  return base_s + 2 * (inside * cluster.inside.hop_s + levels * tree_network_hop_s) +
         sent_bytes(CollectiveKind::all_reduce, group.size, bytes) / rate_between(cluster, places);
}

/// Every rank sends to every other one; to other nodes it sends by its own share of the NICs.
double all_to_all_time_s(const Cluster& cluster, const GroupPlaces& places, const RankGroup& group,
                         double bytes) {
  const auto inside = static_cast<double>(places.per_node - 1);
  const auto outside = static_cast<double>(group.size - places.per_node);
  const double part = bytes / static_cast<double>(group.size);
  return base_s + inside * cluster.inside.hop_s + outside * cluster.between->hop_s +
         std::max(inside * part / rate_inside(cluster, places.per_node),
                  outside * part / cluster.between->reached_bytes_per_s);
}

}  // namespace

GroupPlaces places_of(const Cluster& cluster, const RankGroup& group) {
  const std::int64_t node = cluster.devices_per_node;
  const std::int64_t in_node = group.stride >= node ? 1 : node / group.stride;
  const std::int64_t per_node = std::min(group.size, in_node);
  return {per_node, (group.size + per_node - 1) / per_node};
}

bool leaves_node(const Cluster& cluster, const RankGroup& group) {
  return places_of(cluster, group).nodes > 1;
}

double sent_bytes(CollectiveKind kind, std::int64_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  if (kind == CollectiveKind::point_to_point) return bytes;
  const double share = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return (kind == CollectiveKind::all_reduce ? 2 : 1) * bytes * share;
}

double collective_time_s(const Cluster& cluster, const RankGroup& group, CollectiveKind kind,
                         double bytes) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const GroupPlaces places = places_of(cluster, group);
  if (kind == CollectiveKind::point_to_point) {
    const bool leaves_node = group.stride >= cluster.devices_per_node;
    if (const MeasuredCollective* measured = find_measured(cluster, kind, 2);
        measured != nullptr && !leaves_node)
      return measured_time_s(*measured, bytes);
    const ClusterLink& link = leaves_node && cluster.between ? *cluster.between : cluster.inside;
    return base_s + link.hop_s + bytes / link.reached_bytes_per_s;
  }
  const bool lies_in_node = places.nodes == 1;
  if (const MeasuredCollective* measured = find_measured(cluster, kind, group.size);
      measured != nullptr && lies_in_node)
    return measured_time_s(*measured, bytes);
  if (kind == CollectiveKind::all_to_all && !lies_in_node)
    return all_to_all_time_s(cluster, places, group, bytes);
  const double ring_s = ring_time_s(cluster, places, group, kind, bytes);
  if (lies_in_node || kind != CollectiveKind::all_reduce) return ring_s;
  return std::min(ring_s, tree_time_s(cluster, places, group, bytes));
}

double ring_step_time_s(const Cluster& cluster, const RankGroup& group, double bytes) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const GroupPlaces places = places_of(cluster, group);
  const bool lies_in_node = places.nodes == 1;
  const ClusterLink& link = lies_in_node ? cluster.inside : *cluster.between;
  const double rate =
      lies_in_node ? rate_inside(cluster, group.size) : rate_between(cluster, places);
  return base_s + link.hop_s + bytes / rate;
}

}  // namespace strata
