// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/cluster_file.hpp"

#include "strata/base/error.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/load_machine.hpp"

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace strata {
namespace {

using ClusterJson = ObjectReader::Json;

constexpr std::size_t most_cluster_bytes = 4 << 20, most_collectives = 1000, most_points = 10000;

/// Empty when it is no file that can be read.
std::string cluster_text(std::string_view path) {
  const std::filesystem::path file_path(path);
  std::error_code problem;
  if (!std::filesystem::is_regular_file(file_path, problem)) return {};
  std::ifstream file(file_path, std::ios::binary);
  std::string text(most_cluster_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// A link of the file in place of the machine's.
void change_link(ClusterLink& link, const ClusterJson& json, const std::string& place) {
  ObjectReader object(json, place);
  if (object.find("name") != nullptr) link.name = printable(object.text("name"));
  const double share = link.bytes_per_s > 0 ? link.reached_bytes_per_s / link.bytes_per_s : 1;
  link.bytes_per_s = object.positive("bandwidth_bytes_per_s");
  link.reached_bytes_per_s =
      object.maybe_positive("reached_bytes_per_s").value_or(share * link.bytes_per_s);
  if (link.reached_bytes_per_s > link.bytes_per_s)
    fail(ErrorKind::input, "{}.reached_bytes_per_s: {} is more than the link's {}", place,
         link.reached_bytes_per_s, link.bytes_per_s);
  link.hop_s = object.maybe_not_negative("hop_s").value_or(link.hop_s);
  link.source = printable(object.text("source"));
  object.finish();
}

MeasuredCollective::Point collective_point(const ClusterJson& json, const std::string& place) {
  if (!json.is_array() || json.size() != 2)
    fail(ErrorKind::input, "{}: expected [bytes, seconds]", place);
  return {positive_number(json[0], place + "[0]"), positive_number(json[1], place + "[1]")};
}

MeasuredCollective collective_from(const ClusterJson& json, const std::string& place) {
  constexpr std::array<std::string_view, 5> kinds = {"all-reduce", "all-gather", "reduce-scatter",
                                                     "all-to-all", "point-to-point"};
  ObjectReader object(json, place);
  MeasuredCollective measured;
  measured.kind = static_cast<CollectiveKind>(object.choice("collective", kinds));
  measured.ranks = object.maybe_count("ranks").value_or(0);
  if (measured.ranks < 2) fail(ErrorKind::input, "{}.ranks: expected 2 or more", place);
  measured.source = printable(object.text("source"));
  object.required("points");
  measured.points = object.list("points", most_points, collective_point);
  object.finish();
  if (measured.points.empty()) fail(ErrorKind::input, "{}.points: there are none", place);
  for (std::size_t i = 1; i < measured.points.size(); ++i) {
    if (measured.points[i].bytes <= measured.points[i - 1].bytes)
      fail(ErrorKind::input, "{}.points[{}]: sizes must rise", place, i);
  }
  return measured;
}

/// One that ships or was measured; else a file, beside that of the cluster or from here.
Machine machine_named(const std::string& name, const std::filesystem::path& folder) {
  const std::filesystem::path beside = folder / name;
  std::error_code problem;
  const bool is_file = name.ends_with(".json") && std::filesystem::is_regular_file(beside, problem);
  return load_machine(is_file ? beside.string() : name);
}

}  // namespace

bool is_cluster_file(std::string_view path) {
  if (!path.ends_with(".json")) return false;
  return cluster_text(path).find("\"strata_cluster\"") != std::string::npos;
}

Cluster read_cluster(std::string_view json_text, const std::filesystem::path& folder) {
  const ClusterJson json = ClusterJson::parse(json_text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "not JSON");
  ObjectReader object(json, "cluster");
  if (object.required("strata_cluster") != 1)
    fail(ErrorKind::input, "cluster.strata_cluster: expected 1, the version of the form");
  const std::int64_t per_node = object.maybe_count("devices_per_node").value_or(1);
  const std::int64_t nodes = object.maybe_count("nodes").value_or(1);
  Machine machine = machine_named(object.text("machine"), folder);
  // Links that the machine's file lacks are taken from here, and need not be there.
  const ClusterJson* inside = object.find("inside");
  const ClusterJson* between = object.find("between");
  Cluster cluster =
      make_cluster(machine, inside == nullptr ? per_node : 1, between == nullptr ? nodes : 1);
  check_devices(per_node, nodes);
  cluster.devices_per_node = per_node;
  cluster.nodes = nodes;
  cluster.name = object.find("name") != nullptr ? printable(object.text("name")) : cluster.name;
  if (inside != nullptr) change_link(cluster.inside, *inside, "cluster.inside");
  if (between != nullptr) {
    cluster.between.emplace();
    change_link(*cluster.between, *between, "cluster.between");
  }
  if (const auto share = object.maybe_not_negative("interference")) {
    if (*share > 1)
      fail(ErrorKind::input, "cluster.interference: expected a share from 0 to 1, got {}", *share);
    cluster.interference = *share;
  }
  cluster.collectives = object.list("collectives", most_collectives, collective_from);
  object.finish();
  return cluster;
}

Cluster load_cluster_file(std::string_view path) {
  const std::string text = cluster_text(path);
  try {
    if (text.size() > most_cluster_bytes) fail(ErrorKind::input, "too large for a cluster file");
    return read_cluster(text, std::filesystem::path(path).parent_path());
  } catch (Error& error) {
    error.add_context(std::string(path));
    throw;
  }
}

}  // namespace strata
