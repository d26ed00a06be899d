// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.hpp"

#include "cli/machine_at_hand.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/base/csv_cell.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"
#include "strata/strata.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

/// Its rate for fp32 outside matrix units, and its outermost memory.
struct OuterFacts {
  std::optional<double> flop_per_s;
  std::optional<double> bytes;
  std::optional<double> bytes_per_s;
};

OuterFacts outer_facts(const Machine& machine) {
  OuterFacts facts;
  for (const Peak& peak : machine.peaks) {
    const bool is_meant = peak.dtype == DType::fp32 && peak.unit == ComputeUnit::vector;
    if (is_meant && !facts.flop_per_s) facts.flop_per_s = peak.flop_per_s.value;
  }
  if (machine.memory.empty()) return facts;
  const MemoryLevel& memory = machine.memory.back();
  facts.bytes = memory.capacity_bytes.value;
  if (memory.bandwidth_bytes_per_s) facts.bytes_per_s = memory.bandwidth_bytes_per_s->value;
  return facts;
}

std::string machines_text(const std::vector<Machine>& machines, const TextStyle& style) {
  Table table({{.title = "machine"},
               {.title = "", .least_width = 12},
               {.title = "fp32\nvector", .align = Align::right},
               {.title = "outermost\nmemory", .align = Align::right},
               {.title = "\nbandwidth", .align = Align::right}});
  for (const Machine& machine : machines) {
    const OuterFacts facts = outer_facts(machine);
    table.add_row({machine.name, machine.title,
                   facts.flop_per_s ? format_flop_per_s(*facts.flop_per_s, 4) : "",
                   facts.bytes ? format_capacity(*facts.bytes) : "",
                   facts.bytes_per_s ? format_bytes_per_s(*facts.bytes_per_s) : ""});
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

std::string networks_csv(const std::vector<Catalogue::NetworkEntry>& entries) {
  std::string text = "name,title,layers,parameters,may_be_set,source\n";
  for (const auto& entry : entries) {
    text += fmt::format("{},{},{},{},{},{}\n", csv_cell(entry.name()), csv_cell(entry.title()),
                        entry.layers, entry.parameters, csv_cell(knobs_of(entry)),
                        csv_cell(entry.network->source));
  }
  return text;
}

std::string machines_csv(const std::vector<Machine>& machines) {
  std::string text = "name,title,kind,fp32_vector_flop_per_s,memory_bytes,bandwidth_bytes_per_s\n";
  for (const Machine& machine : machines) {
    const OuterFacts facts = outer_facts(machine);
    const auto cell = [](const std::optional<double>& number) {
      return number ? fmt::format("{}", *number) : "";
    };
    text += fmt::format("{},{},{},{},{},{}\n", csv_cell(machine.name), csv_cell(machine.title),
                        csv_cell(machine.kind), cell(facts.flop_per_s), cell(facts.bytes),
                        cell(facts.bytes_per_s));
  }
  return text;
}

std::string formats_csv(const std::vector<Format>& formats) {
  std::string text = "name,extensions,description\n";
  for (const Format& format : formats) {
    text += fmt::format("{},{},{}\n", csv_cell(format.name),
                        csv_cell(fmt::format("{}", fmt::join(format.extensions, " "))),
                        csv_cell(format.description));
  }
  return text;
}

std::string frameworks_csv(const std::vector<Framework>& frameworks) {
  std::string text = "name,title\n";
  for (const Framework& framework : frameworks)
    text += fmt::format("{},{}\n", csv_cell(framework.name), csv_cell(framework.title));
  return text;
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

std::string to_csv(const Catalogue& catalogue) {
  const int lists = int{catalogue.networks.has_value()} + int{catalogue.machines.has_value()} +
                    int{catalogue.formats.has_value()} + int{catalogue.operators.has_value()} +
                    int{catalogue.frameworks.has_value()};
  if (lists != 1)
    fail(ErrorKind::usage,
         "--csv writes one table: give networks, machines, formats, operators or "
         "frameworks");
  if (catalogue.networks) return networks_csv(*catalogue.networks);
  if (catalogue.machines) return machines_csv(*catalogue.machines);
  if (catalogue.formats) return formats_csv(*catalogue.formats);
  if (catalogue.frameworks) return frameworks_csv(*catalogue.frameworks);
  std::string text = "operator\n";
  for (const std::string_view name : *catalogue.operators) text += csv_cell(name) + '\n';
  return text;
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
