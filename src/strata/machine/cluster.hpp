// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A Cluster is many devices of one Machine, joined by links: within a node, and between nodes.
namespace strata {

/// What joins devices, as one device sees it.
struct ClusterLink {
  std::string name;                ///< "NVLink 4"
  double bytes_per_s = 0;          ///< in one direction
  double reached_bytes_per_s = 0;  ///< what collectives get of it on all devices of a node
  double hop_s = 0;                ///< latency of one step of a collective
  std::string source;

  bool operator==(const ClusterLink&) const = default;
};

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  point_to_point
};
std::string_view name_of(CollectiveKind kind);  ///< "all-reduce"

/// How long a collective took there.
struct MeasuredCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 0;
  std::string source;
  struct Point {
    double bytes = 0, time_s = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  ///< sizes rise

  bool operator==(const MeasuredCollective&) const = default;
};

struct Cluster {
  std::string name;  ///< "8x8xh100-sxm", or as the file says
  Machine machine;
  std::int64_t devices_per_node = 1;
  std::int64_t nodes = 1;
  ClusterLink inside;                  ///< between the devices of a node
  std::optional<ClusterLink> between;  ///< between nodes, per device; nothing: there is one node
  std::vector<MeasuredCollective> collectives;
  /// Of the time in which a collective runs beside kernels, what the kernels lose to it.
  double interference = 0;
  std::vector<std::string> assumptions;  ///< numbers that no file gave

  std::int64_t devices() const { return devices_per_node * nodes; }
};

/// From what people type: "8xh100-sxm" is a node of eight, "16x8xa100-80gb" has sixteen of them; a
/// file that says "strata_cluster" (docs/clusters.md) says it all itself. A machine alone is one
/// device. Errors name the file and place, or suggest the nearest machine.
Cluster load_cluster(std::string_view text);

/// Whether the text asks for more than one device: "8xh100-sxm", or a file of a cluster.
bool names_cluster(std::string_view text);

/// So many nodes of so many machines, by the machine's own links. Errors (input): a number of
/// devices below 1 or above 2^20; (unsupported): the machine has no link to another one.
Cluster make_cluster(Machine machine, std::int64_t devices_per_node, std::int64_t nodes);

/// So many devices of it: whole nodes, or a part of one. Errors (input) as above, and where they
/// are no whole nodes; (unsupported): nothing is known of the links between nodes.
Cluster with_devices(const Cluster& cluster, std::int64_t devices);

/// Errors (input) unless there are 1 to 2^20 devices.
void check_devices(std::int64_t devices_per_node, std::int64_t nodes);

}  // namespace strata
