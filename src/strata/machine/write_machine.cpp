// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/machine/machine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

template <class Number>
void add_if(Json& json, const char* key, const std::optional<Number>& number) {
  if (number) json[key] = *number;
}

Json json_of(const Measurement& evidence) {
  Json json = {{"method", evidence.method}};
  add_if(json, "deviation_s", evidence.deviation_s);
  add_if(json, "relative_spread", evidence.relative_spread);
  add_if(json, "clock_hz", evidence.clock_hz);
  add_if(json, "power_w", evidence.power_w);
  if (evidence.share)
    json["share"] = {{"share", evidence.share->share}, {"of", evidence.share->of}};
  if (!evidence.notes.empty()) json["notes"] = evidence.notes;
  if (!evidence.samples_s.empty()) json["samples_s"] = evidence.samples_s;
  return json;
}

// The value stands under the name of what it is where an object has only one number.
void add_number(Json& json, const char* value_key, const Sourced& number) {
  json[value_key] = number.value;
  json["source"] = number.source;
  if (number.evidence) json["evidence"] = json_of(*number.evidence);
}

Json json_of(const Sourced& number) {
  Json json = Json::object();
  add_number(json, "value", number);
  return json;
}

void add_sourced(Json& json, const char* key, const std::optional<Sourced>& number) {
  if (number) json[key] = json_of(*number);
}

Json json_of(const Peak& peak) {
  Json json = {{"dtype", name_of(peak.dtype)}, {"unit", name_of(peak.unit)}};
  add_number(json, "flop_per_s", peak.flop_per_s);
  add_sourced(json, "flop_per_clock", peak.flop_per_clock);
  add_sourced(json, "clock_hz", peak.clock_hz);
  add_sourced(json, "lasting", peak.lasting);
  return json;
}

Json json_of(const MixBandwidth& mix) {
  Json json = {{"mix", name_of(mix.mix)}};
  add_number(json, "bytes_per_s", mix.bytes_per_s);
  return json;
}

Json json_of(const SizeRate& point) { return Json::array({point.bytes, point.bytes_per_s}); }

Json json_of(const MemoryLevel& level);
Json json_of(const WorkingSetCurve& curve);
Json json_of(const Link& link);
Json json_of(const LaunchVariant& variant);
Json json_of(const Version& version);

template <class Items>
Json list_of(const Items& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

template <class Items>
void add_list(Json& json, const char* key, const Items& items) {
  if (!items.empty()) json[key] = list_of(items);
}

Json json_of(const MemoryLevel& level) {
  Json json = {{"name", level.name}, {"on_chip", level.is_on_chip}};
  if (level.instances != 1) json["instances"] = level.instances;
  json["capacity_bytes"] = json_of(level.capacity_bytes);
  add_sourced(json, "bandwidth_bytes_per_s", level.bandwidth_bytes_per_s);
  add_sourced(json, "lasting", level.lasting);
  add_list(json, "mixes", level.mixes);
  return json;
}

Json json_of(const WorkingSetCurve& curve) {
  return {{"mix", name_of(curve.mix)}, {"source", curve.source}, {"points", list_of(curve.points)}};
}

Json json_of(const Link& link) {
  Json json = {{"name", link.name}, {"kind", name_of(link.kind)}};
  if (link.host_memory) json["host_memory"] = name_of(*link.host_memory);
  if (link.joins) json["joins"] = *link.joins;
  json["bandwidth_bytes_per_s"] = json_of(link.bandwidth_bytes_per_s);
  add_sourced(json, "latency_s", link.latency_s);
  add_list(json, "points", link.points);
  return json;
}

Json json_of(const Clocks& clocks) {
  Json json = Json::object();
  add_sourced(json, "base_hz", clocks.base_hz);
  add_sourced(json, "boost_hz", clocks.boost_hz);
  add_sourced(json, "seen_hz", clocks.seen_hz);
  add_sourced(json, "memory_hz", clocks.memory_hz);
  return json;
}

Json json_of(const LaunchVariant& variant) {
  return {{"name", variant.name}, {"latency_s", json_of(variant.latency_s)}};
}

Json json_of(const Version& version) { return {{"of", version.of}, {"version", version.version}}; }

Json json_of(const Measured& measured) {
  Json json = {{"host", measured.host}, {"date", measured.date}};
  add_list(json, "versions", measured.versions);
  if (!measured.warnings.empty()) json["warnings"] = measured.warnings;
  return json;
}

std::string compact(const Json& json) {
  return printable_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// With a space after commas and colons, and whole numbers without a decimal point.
std::string one_line(const Json& json) {
  constexpr double exact_whole = 1e15;
  if (json.is_number_float()) {
    const auto number = json.get<double>();
    if (std::floor(number) == number && std::fabs(number) < exact_whole)
      return fmt::format("{:.0f}", number);
  }
  if (!json.is_structured()) return compact(json);
  std::vector<std::string> parts;
  for (const auto& entry : json.items()) {
    const std::string key = json.is_object() ? compact(entry.key()) + ": " : "";
    parts.push_back(key + one_line(entry.value()));
  }
  const std::string inside = fmt::format("{}", fmt::join(parts, ", "));
  return json.is_object() ? "{" + inside + "}" : "[" + inside + "]";
}

// What fits on a line stands on one, and so does every list of plain numbers: a person reads the
// file, and a thousand samples are no thousand lines.
void write(const Json& json, std::size_t indent, std::string& text) {
  constexpr std::size_t line_width = 120;
  const std::string line = one_line(json);
  const bool is_plain_list =
      json.is_array() && (json.empty() || !json[0].is_structured() || json[0].is_array());
  if (!json.is_structured() || is_plain_list || indent + line.size() <= line_width) {
    text += line;
    return;
  }
  text += json.is_object() ? '{' : '[';
  const char* separator = "\n";
  for (const auto& entry : json.items()) {
    text += separator + std::string(indent + 2, ' ');
    if (json.is_object()) text += compact(entry.key()) + ": ";
    write(entry.value(), indent + 2, text);
    separator = ",\n";
  }
  text += '\n' + std::string(indent, ' ') + (json.is_object() ? '}' : ']');
}

}  // namespace

std::string to_json(const Machine& machine) {
  Json json = {{"strata_machine", 1},
               {"name", machine.name},
               {"title", machine.title},
               {"kind", machine.kind}};
  if (!machine.vendor.empty()) json["vendor"] = machine.vendor;
  if (machine.measured) json["measured"] = json_of(*machine.measured);
  if (machine.units) {
    json["units"] = {{"name", machine.units->name}, {"count", json_of(machine.units->count)}};
  }
  if (machine.clocks != Clocks{}) json["clocks"] = json_of(machine.clocks);
  add_sourced(json, "power_w", machine.power_w);
  if (machine.price) {
    Json& price = json["price_per_hour"] = json_of(machine.price->per_hour);
    if (!machine.price->currency.empty()) price["currency"] = machine.price->currency;
  }
  if (machine.process)
    json["process"] = {{"node", machine.process->node}, {"source", machine.process->source}};
  json["peaks"] = list_of(machine.peaks);
  json["memory"] = list_of(machine.memory);
  add_sourced(json, "launch_latency_s", machine.launch_latency_s);
  add_sourced(json, "graph_node_latency_s", machine.graph_node_latency_s);
  add_list(json, "launch_variants", machine.launch_variants);
  add_list(json, "links", machine.links);
  add_list(json, "curves", machine.curves);
  std::string text;
  write(json, 0, text);
  return text + '\n';
}

}  // namespace strata
