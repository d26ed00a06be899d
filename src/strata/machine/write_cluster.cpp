// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/cluster_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

using ClusterOut = nlohmann::ordered_json;

ClusterOut link_json(const ClusterLink& link) {
  return {{"name", link.name},
          {"bandwidth_bytes_per_s", link.bytes_per_s},
          {"reached_bytes_per_s", link.reached_bytes_per_s},
          {"hop_s", link.hop_s},
          {"source", link.source}};
}

/// A line per collective: [bytes, seconds] by the dozen.
std::string collectives_text(const std::vector<MeasuredCollective>& collectives) {
  std::string text;
  for (const MeasuredCollective& one : collectives) {
    ClusterOut json = {
        {"collective", name_of(one.kind)}, {"ranks", one.ranks}, {"source", one.source}};
    json["points"] = ClusterOut::array();
    for (const MeasuredCollective::Point& point : one.points)
      json["points"].push_back({point.bytes, point.time_s});
    text += fmt::format("{}\n    {}", text.empty() ? "" : ",", json.dump());
  }
  return text.empty() ? "[]" : "[" + text + "\n  ]";
}

}  // namespace

std::string to_json(const Cluster& cluster) {
  std::string text = "{\n  \"strata_cluster\": 1";
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format(",\n  \"{}\": {}", key, value);
  };
  add("name", ClusterOut(cluster.name).dump());
  add("machine", ClusterOut(cluster.machine.name).dump());
  add("devices_per_node", fmt::format("{}", cluster.devices_per_node));
  add("nodes", fmt::format("{}", cluster.nodes));
  if (cluster.devices_per_node > 1) add("inside", link_json(cluster.inside).dump());
  if (cluster.between) add("between", link_json(*cluster.between).dump());
  add("interference", ClusterOut(cluster.interference).dump());
  if (!cluster.collectives.empty()) add("collectives", collectives_text(cluster.collectives));
  if (!cluster.assumptions.empty()) add("notes", ClusterOut(cluster.assumptions).dump());
  return text + "\n}\n";
}

}  // namespace strata
