// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_text.hpp"

#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/parallel/collectives.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata {
namespace {

constexpr std::array<double, 5> shown_bytes = {1024, 65536, 1 << 20, 64 << 20, 1 << 30};

void add_link(Table& table, std::string_view place, const ClusterLink& link) {
  table.add_row({std::string(place), link.name, format_bytes_per_s(link.bytes_per_s),
                 fmt::format("{} ({:.0f} %)", format_bytes_per_s(link.reached_bytes_per_s),
                             100 * link.reached_bytes_per_s / link.bytes_per_s),
                 format_time(link.hop_s), link.source});
}

std::string links_text(const Cluster& cluster, const TextStyle& style) {
  if (cluster.devices() == 1) return "";
  Table table({{.title = "link of a device"},
               {.title = ""},
               {.title = "one way", .align = Align::right},
               {.title = "collectives reach", .align = Align::right},
               {.title = "a step", .align = Align::right},
               {.title = "source", .least_width = 24}});
  if (cluster.devices_per_node > 1) add_link(table, "inside a node", cluster.inside);
  if (cluster.between) add_link(table, "between nodes", *cluster.between);
  return "\n" + table.to_text(style);
}

/// Among two devices, a node, and all: what strategies are made of.
std::vector<RankGroup> shown_groups(const Cluster& cluster) {
  std::vector<RankGroup> groups;
  for (const std::int64_t size : {std::int64_t{2}, cluster.devices_per_node, cluster.devices()}) {
    const bool is_known = std::any_of(groups.begin(), groups.end(),
                                      [&](const RankGroup& one) { return one.size == size; });
    if (size > 1 && size <= cluster.devices() && !is_known) groups.push_back({size, 1});
  }
  return groups;
}

bool is_measured(const Cluster& cluster, CollectiveKind kind, const RankGroup& group) {
  return places_of(cluster, group).nodes == 1 &&
         std::any_of(cluster.collectives.begin(), cluster.collectives.end(),
                     [&](const MeasuredCollective& one) {
                       return one.kind == kind && one.ranks == group.size;
                     });
}

std::string collectives_text(const Cluster& cluster, const TextStyle& style) {
  if (cluster.devices() == 1) return "";
  std::vector<Column> columns = {{.title = "collective"},
                                 {.title = "devices", .align = Align::right}};
  for (const double bytes : shown_bytes)
    columns.push_back({.title = format_capacity(bytes), .align = Align::right});
  columns.push_back({.title = "from"});
  Table table(std::move(columns));
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::all_to_all, CollectiveKind::point_to_point}) {
    std::string name(name_of(kind));
    for (const RankGroup& group : shown_groups(cluster)) {
      if (kind == CollectiveKind::point_to_point && group.size > 2) continue;
      std::vector<std::string> cells = {name, fmt::format("{}", group.size)};
      for (const double bytes : shown_bytes)
        cells.push_back(format_time(collective_time_s(cluster, group, kind, bytes)));
      cells.emplace_back(is_measured(cluster, kind, group) ? "measured" : "the links");
      table.add_row(std::move(cells));
      name.clear();
    }
  }
  return "\n" + table.to_text(style);
}

}  // namespace

std::string cluster_text(const Cluster& cluster, const TextStyle& style) {
  std::string text = fmt::format("{}: {} {} of {} {}\n", bold(printable(cluster.name), style),
                                 cluster.nodes, cluster.nodes == 1 ? "node" : "nodes",
                                 cluster.devices_per_node, printable(cluster.machine.title));
  text += links_text(cluster, style) + collectives_text(cluster, style);
  if (cluster.devices() > 1)
    text += fmt::format(
        "\na collective of a size is of the whole tensor; beside kernels it takes "
        "{:.0f} % of their speed\n",
        100 * cluster.interference);
  for (const std::string& assumption : cluster.assumptions)
    text += fmt::format("{}: {}\n", cluster.collectives.empty() ? "assumed" : "note",
                        printable(assumption));
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
