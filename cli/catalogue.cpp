// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.hpp"

#include "cli/machine_at_hand.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"
#include "strata/strata.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

Catalogue::NetworkEntry network_entry(const Network& network, const NetworkSize* size) {
  Catalogue::NetworkEntry entry{.network = &network, .size = size};
  const Graph graph = build_network(entry.name());
  const BoundGraph bound = bind_model(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const bool is_learnt = graph.tensors[id].kind == TensorKind::parameter;
    if (is_learnt) entry.parameters = checked_add(entry.parameters, bound.tensors[id].elements);
  }
  entry.layers = static_cast<std::int64_t>(graph.nodes.size());
  return entry;
}

std::vector<Catalogue::NetworkEntry> read_networks() {
  std::vector<Catalogue::NetworkEntry> entries;
  for (const Network& network : networks()) {
    entries.push_back(network_entry(network, nullptr));
    for (const NetworkSize& size : network.sizes) entries.push_back(network_entry(network, &size));
  }
  return entries;
}

template <class Items>
std::vector<typename Items::value_type> copied(const Items& items) {
  return {items.begin(), items.end()};
}

// "layers=8,width=4096": what may follow the colon, with the defaults; of a size, what it sets.
std::string knobs_of(const Catalogue::NetworkEntry& entry) {
  if (entry.size != nullptr)
    return fmt::format("{}{}{}", entry.network->name, entry.size->arguments.empty() ? "" : ":",
                       entry.size->arguments);
  std::vector<std::string> knobs;
  for (const NetworkParameter& knob : entry.network->parameters) {
    knobs.push_back(fmt::format("{}={}", knob.name, knob.default_value));
  }
  return fmt::format("{}", fmt::join(knobs, ","));
}

std::string networks_text(const std::vector<Catalogue::NetworkEntry>& entries,
                          const TextStyle& style) {
  Table table({{.title = "network"},
               {.title = "", .least_width = 20},
               {.title = "layers", .align = Align::right, .leaves = 1},
               {.title = "parameters", .align = Align::right},
               {.title = "may be set: NAME:KEY=VALUE,…", .least_width = 12, .leaves = 2}});
  for (const auto& entry : entries) {
    table.add_row({std::string(entry.name()), std::string(entry.title()),
                   format_exact(entry.layers), format_count(static_cast<double>(entry.parameters)),
                   knobs_of(entry)});
  }
  return table.to_text(style);
}

std::string machines_text(const std::vector<Machine>& machines, const TextStyle& style) {
  Table table({{.title = "machine"},
               {.title = "", .least_width = 12},
               {.title = "fp32\nvector", .align = Align::right},
               {.title = "outermost\nmemory", .align = Align::right},
               {.title = "\nbandwidth", .align = Align::right}});
  for (const Machine& machine : machines) {
    const auto peak =
        std::find_if(machine.peaks.begin(), machine.peaks.end(), [](const Peak& candidate) {
          return candidate.dtype == DType::fp32 && candidate.unit == ComputeUnit::vector;
        });
    const MemoryLevel* memory = machine.memory.empty() ? nullptr : &machine.memory.back();
    const bool has_rate = memory != nullptr && memory->bandwidth_bytes_per_s.has_value();
    table.add_row({machine.name, machine.title,
                   peak == machine.peaks.end() ? "" : format_flop_per_s(peak->flop_per_s.value, 4),
                   memory == nullptr ? "" : format_capacity(memory->capacity_bytes.value),
                   has_rate ? format_bytes_per_s(memory->bandwidth_bytes_per_s->value) : ""});
  }
  return table.to_text(style);
}

std::string formats_text(const std::vector<Format>& formats, const TextStyle& style) {
  Table table({{.title = "format"}, {.title = "files"}, {.title = "", .least_width = 20}});
  for (const Format& format : formats) {
    table.add_row({std::string(format.name), fmt::format("{}", fmt::join(format.extensions, " ")),
                   std::string(format.description)});
  }
  return table.to_text(style);
}

std::string operators_text(const std::vector<std::string_view>& operators) {
  std::string text;
  for (const std::string_view name : operators) text += fmt::format("  {}\n", name);
  return text;
}

/// Of a machine that was measured here. A file that cannot be read is none.
bool has_calibration(const std::string& machine, const std::string& framework) {
  try {
    return kept_calibration(machine, framework) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

std::string frameworks_text(const std::vector<Framework>& frameworks, const TextStyle& style) {
  Table table(
      {{.title = "framework"}, {.title = "", .least_width = 20}, {.title = "calibrated on"}});
  for (const Framework& framework : frameworks) {
    std::vector<std::string> machines;
    for (const Calibration& one : shipped_calibrations()) {
      if (one.framework == framework.calibration) machines.push_back(one.machine);
    }
    for (const Machine& machine : measured_machines()) {
      if (has_calibration(machine.name, framework.calibration)) machines.push_back(machine.name);
    }
    std::string calibrated = fmt::format("{}", fmt::join(machines, ", "));
    if (framework.calibration != framework.name)
      calibrated += fmt::format(" (kernels of {})", framework.calibration);
    table.add_row({framework.name, framework.title, std::move(calibrated)});
  }
  return table.to_text(style);
}

Json framework_json(const Framework& framework) {
  return {{"name", framework.name}, {"title", framework.title}};
}

Json network_json(const Catalogue::NetworkEntry& entry) {
  Json knobs = Json::array();
  const std::string arguments =
      entry.size == nullptr ? "" : fmt::format(",{},", entry.size->arguments);
  for (const NetworkParameter& knob : entry.network->parameters) {
    std::string value(knob.default_value);
    const std::size_t set = arguments.find(fmt::format(",{}=", knob.name));
    if (set != std::string::npos) {
      const std::size_t begin = set + knob.name.size() + 2;
      value = arguments.substr(begin, arguments.find(',', begin) - begin);
    }
    knobs.push_back({{"name", knob.name}, {"default", value}, {"help", knob.help}});
  }
  return {
      {"name", entry.name()},  {"title", entry.title()},         {"source", entry.network->source},
      {"nodes", entry.layers}, {"parameters", entry.parameters}, {"knobs", std::move(knobs)}};
}

Json machine_json(const Machine& machine) {
  return {{"name", machine.name}, {"title", machine.title}, {"kind", machine.kind}};
}

Json format_json(const Format& format) {
  return {{"name", format.name},
          {"description", format.description},
          {"extensions", copied(format.extensions)}};
}

}  // namespace

Catalogue read_catalogue(std::string_view kind) {
  Catalogue catalogue;
  const auto wants = [&](std::string_view list) { return kind.empty() || kind == list; };
  if (wants("networks")) catalogue.networks = read_networks();
  if (wants("machines")) catalogue.machines = shipped_machines();
  if (wants("formats")) catalogue.formats = copied(formats());
  if (kind == "operators") catalogue.operators = copied(operator_names());
  if (kind == "frameworks") catalogue.frameworks = shipped_frameworks();
  return catalogue;
}

std::string to_text(const Catalogue& catalogue, const TextStyle& style) {
  std::vector<std::string> parts;
  if (catalogue.networks) parts.push_back(networks_text(*catalogue.networks, style));
  if (catalogue.machines) parts.push_back(machines_text(*catalogue.machines, style));
  if (catalogue.formats) parts.push_back(formats_text(*catalogue.formats, style));
  if (catalogue.operators) parts.push_back(operators_text(*catalogue.operators));
  if (catalogue.frameworks) parts.push_back(frameworks_text(*catalogue.frameworks, style));
  const std::string text = fmt::format("{}", fmt::join(parts, "\n"));
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_json(const Catalogue& catalogue, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "catalogue");
  if (catalogue.networks) text.add_list("networks", *catalogue.networks, network_json);
  if (catalogue.machines) text.add_list("machines", *catalogue.machines, machine_json);
  if (catalogue.formats) text.add_list("formats", *catalogue.formats, format_json);
  if (catalogue.operators) {
    text.add_list("operators", *catalogue.operators,
                  [](std::string_view name) { return Json(name); });
  }
  if (catalogue.frameworks) text.add_list("frameworks", *catalogue.frameworks, framework_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
