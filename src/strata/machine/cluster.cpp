// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/cluster.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/cluster_file.hpp"
#include "strata/machine/load_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace strata {
namespace {

constexpr std::int64_t most_devices = 1 << 20;

// One step of a ring. An all-reduce of few bytes takes 59, 68 and 101 µs on 2, 4 and 8 A100 with
// NVLink: 3.5 µs for each of its 2, 6 and 14 steps, and 52 µs whatever their number
// (parallel/collectives.cpp). NCCL's own model (tuning.cc) gives PCIe 0.4 µs more than NVLink, and
// a network 2.1 µs more.
constexpr double nvlink_hop_s = 3.5e-6, pcie_hop_s = 3.9e-6, network_hop_s = 5.6e-6;

// Bus bandwidth of all-reduce over the link's rate: measured 230 of 300 GB/s on eight A100.
constexpr double reached_by_peers = 230.0 / 300, reached_over_pcie = 0.75,
                 reached_over_network = 0.85;

const Link* find_link(const Machine& machine, LinkKind kind) {
  for (const Link& link : machine.links) {
    if (link.kind == kind) return &link;
  }
  return nullptr;
}

ClusterLink link_of(const Link& link, double reached, double hop_s) {
  const double rate = link.bandwidth_bytes_per_s.value;
  return {.name = link.name,
          .bytes_per_s = rate,
          .reached_bytes_per_s = rate * reached,
          .hop_s = link.latency_s ? link.latency_s->value : hop_s,
          .source = link.bandwidth_bytes_per_s.source};
}

/// NVLink and the like; else through PCIe, as cards without such a link do.
ClusterLink link_inside(const Machine& machine, std::int64_t devices,
                        std::vector<std::string>& assumptions) {
  const Link* peer = find_link(machine, LinkKind::peer);
  if (peer != nullptr && peer->joins.value_or(devices) >= devices) {
    assumptions.push_back(fmt::format("collectives reach {:.0f} % of {}, as measured on eight A100",
                                      reached_by_peers * 100, peer->name));
    return link_of(*peer, reached_by_peers, nvlink_hop_s);
  }
  if (const Link* host = find_link(machine, LinkKind::device_to_host)) {
    assumptions.push_back(fmt::format("devices of a node talk over {}, at {:.0f} % of its rate",
                                      host->name, reached_over_pcie * 100));
    return link_of(*host, reached_over_pcie, pcie_hop_s);
  }
  if (const Link* network = find_link(machine, LinkKind::network))
    return link_of(*network, reached_over_network, network_hop_s);
  fail(ErrorKind::unsupported,
       "{} has no link to another device: add one to its file (docs/machines.md), or describe the "
       "cluster in a file (docs/clusters.md)",
       machine.name);
}

ClusterLink link_between(const Machine& machine, std::vector<std::string>& assumptions) {
  const Link* network = find_link(machine, LinkKind::network);
  if (network == nullptr)
    fail(ErrorKind::unsupported,
         "{} has no network link: add one to its file (docs/machines.md), or describe the cluster "
         "in a file (docs/clusters.md)",
         machine.name);
  assumptions.push_back(
      fmt::format("collectives reach {:.0f} % of {}", reached_over_network * 100, network->name));
  return link_of(*network, reached_over_network, network_hop_s);
}

struct ClusterWords {
  std::int64_t nodes = 1, devices_per_node = 1;
  std::string_view machine;
};

/// Takes "8x" from the front.
std::optional<std::int64_t> take_count(std::string_view& text) {
  std::int64_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (problem != std::errc() || digits >= text.size() || text[digits] != 'x') return std::nullopt;
  text.remove_prefix(digits + 1);
  return count;
}

ClusterWords words_of(std::string_view text) {
  ClusterWords words{.machine = text};
  const auto first = take_count(words.machine);
  if (!first) return words;
  const auto second = take_count(words.machine);
  words.nodes = second ? *first : 1;
  words.devices_per_node = second ? *second : *first;
  return words;
}

}  // namespace

std::string_view name_of(CollectiveKind kind) {
  static constexpr std::array<std::string_view, 5> names = {
      "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "point-to-point"};
  return names[static_cast<std::size_t>(kind)];
}

void check_devices(std::int64_t devices_per_node, std::int64_t nodes) {
  if (devices_per_node < 1 || nodes < 1 || devices_per_node > most_devices ||
      nodes > most_devices / devices_per_node)
    fail(ErrorKind::input, "a cluster has 1 to {} devices, got {} nodes of {}", most_devices, nodes,
         devices_per_node);
}

namespace {

std::string cluster_name(std::string_view machine, std::int64_t devices_per_node,
                         std::int64_t nodes) {
  return nodes > 1              ? fmt::format("{}x{}x{}", nodes, devices_per_node, machine)
         : devices_per_node > 1 ? fmt::format("{}x{}", devices_per_node, machine)
                                : std::string(machine);
}

}  // namespace

Cluster make_cluster(Machine machine, std::int64_t devices_per_node, std::int64_t nodes) {
  check_devices(devices_per_node, nodes);
  Cluster cluster;
  cluster.name = cluster_name(machine.name, devices_per_node, nodes);
  cluster.devices_per_node = devices_per_node;
  cluster.nodes = nodes;
  // While it runs, a collective takes 2 to 15 % of the SMs and of the memory's bandwidth.
  cluster.interference = 0.05;
  if (devices_per_node > 1)
    cluster.inside = link_inside(machine, devices_per_node, cluster.assumptions);
  if (nodes > 1) cluster.between = link_between(machine, cluster.assumptions);
  cluster.machine = std::move(machine);
  return cluster;
}

Cluster with_devices(const Cluster& cluster, std::int64_t devices) {
  check_devices(devices, 1);
  Cluster some = cluster;
  some.devices_per_node = std::min(devices, cluster.devices_per_node);
  some.nodes = devices / some.devices_per_node;
  if (some.nodes * some.devices_per_node != devices)
    fail(ErrorKind::input, "{} devices are no whole nodes of {}", devices, some.devices_per_node);
  if (some.nodes == 1) some.between.reset();
  if (some.nodes > 1 && !some.between) some.between = link_between(some.machine, some.assumptions);
  const bool is_named =
      cluster.name == cluster_name(cluster.machine.name, cluster.devices_per_node, cluster.nodes);
  some.name = is_named ? cluster_name(some.machine.name, some.devices_per_node, some.nodes)
                       : fmt::format("{} of {}", devices, cluster.name);
  return some;
}

bool names_cluster(std::string_view text) {
  if (is_cluster_file(text)) return true;
  const ClusterWords words = words_of(text);
  return words.machine.size() != text.size();
}

Cluster load_cluster(std::string_view text) {
  if (is_cluster_file(text)) return load_cluster_file(text);
  const ClusterWords words = words_of(text);
  return make_cluster(load_machine(words.machine), words.devices_per_node, words.nodes);
}

}  // namespace strata
