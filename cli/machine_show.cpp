// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_text.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/machine_command.hpp"
#include "strata/base/csv_cell.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/cluster_file.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace strata {
namespace {

constexpr Flag machine_show_flags[] = {machine_json_flag, machine_csv_flag, html_flag};
constexpr std::size_t least_source_width = 24;

std::string with_unit(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "";
}

std::string heading(const Machine& machine, const TextStyle& style) {
  std::string from = "from documents";
  if (machine.measured) {
    from = fmt::format("measured on {}, {}", printable(machine.measured->host),
                       printable(machine.measured->date));
  }
  std::string text = fmt::format("{} ({}), {}, {}\n", bold(printable(machine.title), style),
                                 printable(machine.name), printable(machine.kind), from);
  if (!machine.measured) return text;
  for (const Version& version : machine.measured->versions)
    text += fmt::format("  {} {}\n", printable(version.of), printable(version.version));
  for (const std::string& warning : machine.measured->warnings)
    text += fmt::format("  warning: {}\n", printable(warning));
  return text;
}

std::string rates_text(const Machine& machine, const TextStyle& style) {
  Table table({{.title = "rate, dense"},
               {.title = ""},
               {.title = "", .align = Align::right},
               {.title = "units × FLOP/clock\n× clock", .align = Align::right, .leaves = 2},
               {.title = "balance\nFLOP/byte", .align = Align::right, .leaves = 1},
               {.title = "source", .least_width = least_source_width}});
  for (const Peak& peak : machine.peaks) {
    const auto arithmetic = arithmetic_peak(machine, peak);
    table.add_row({std::string(name_of(peak.dtype)), std::string(name_of(peak.unit)),
                   quantity_text(Quantity::flop_per_s, peak.flop_per_s.value),
                   arithmetic ? quantity_text(Quantity::flop_per_s, *arithmetic) : "",
                   with_unit(balance_of(machine, peak), "{:.1f}"), peak.flop_per_s.source});
  }
  return table.to_text(style);
}

// The number in words: "capacity", "bandwidth, copy".
std::string memory_text(const Machine& machine, const TextStyle& style) {
  Table table({{.title = "memory"},
               {.title = ""},
               {.title = ""},
               {.title = "", .align = Align::right},
               {.title = "source", .least_width = least_source_width}});
  for (const MemoryLevel& level : machine.memory) {
    std::string place = level.is_on_chip ? "on chip" : "off chip";
    if (level.instances > 1) place += fmt::format(", in {}", level.instances);
    table.add_row({level.name, place, "capacity",
                   quantity_text(Quantity::bytes, level.capacity_bytes.value),
                   level.capacity_bytes.source});
    if (level.bandwidth_bytes_per_s) {
      table.add_row({"", "", "bandwidth",
                     quantity_text(Quantity::bytes_per_s, level.bandwidth_bytes_per_s->value),
                     level.bandwidth_bytes_per_s->source});
    }
    for (const MixBandwidth& mix : level.mixes) {
      table.add_row({"", "", fmt::format("  {}", name_of(mix.mix)),
                     quantity_text(Quantity::bytes_per_s, mix.bytes_per_s.value),
                     mix.bytes_per_s.source});
    }
  }
  return table.to_text(style);
}

// "machine.links.pcie.peer.latency_s" → "links.pcie.peer.latency_s"
std::string short_path(const std::string& path) { return path.substr(path.find('.') + 1); }

bool starts_other(const std::string& path) {
  const bool is_shown_above =
      (path.starts_with("machine.peaks.") && path.ends_with(".flop_per_s")) ||
      path.starts_with("machine.memory.");
  return !is_shown_above;
}

std::string others_text(const Machine& machine, const TextStyle& style) {
  Table table({{.title = "other"},
               {.title = "", .align = Align::right},
               {.title = "source", .least_width = least_source_width}});
  bool has_rows = false;
  for (const MachineNumber& entry : numbers_of(machine)) {
    if (!starts_other(entry.path)) continue;
    std::string value = quantity_text(entry.quantity, entry.number.value);
    if (entry.path == "machine.units.count") value += ' ' + machine.units->name;
    if (entry.path == "machine.price_per_hour") value += ' ' + machine.price->currency;
    table.add_row({short_path(entry.path), value, entry.number.source});
    has_rows = true;
  }
  if (machine.process) {
    table.add_row({"process", machine.process->node, machine.process->source});
    has_rows = true;
  }
  return has_rows ? '\n' + table.to_text(style) : "";
}

std::string evidence_text(const Machine& machine, const TextStyle& style) {
  Table table({{.title = "measured"},
               {.title = "samples", .align = Align::right, .leaves = 2},
               {.title = "spread", .align = Align::right},
               {.title = "clock", .align = Align::right, .leaves = 1},
               {.title = "of peak", .align = Align::right},
               {.title = "method", .least_width = least_source_width}});
  bool has_rows = false;
  for (const MachineNumber& entry : numbers_of(machine)) {
    if (!entry.number.evidence) continue;
    const Measurement& evidence = *entry.number.evidence;
    const std::string notes =
        evidence.notes.empty() ? "" : fmt::format(" ({})", fmt::join(evidence.notes, "; "));
    const auto percent = [](std::optional<double> share) {
      return share ? fmt::format("{:.1f} %", 100 * *share) : "";
    };
    const std::string of = evidence.share ? fmt::format("; peak: {}", evidence.share->of) : "";
    table.add_row({short_path(entry.path),
                   evidence.samples_s.empty() ? "" : fmt::format("{}", evidence.samples_s.size()),
                   percent(evidence.relative_spread),
                   evidence.clock_hz ? quantity_text(Quantity::hertz, *evidence.clock_hz) : "",
                   evidence.share ? percent(evidence.share->share) : "",
                   evidence.method + of + notes});
    has_rows = true;
  }
  return has_rows ? '\n' + table.to_text(style) : "";
}

std::string curves_text(const Machine& machine, const TextStyle& style) {
  if (machine.curves.empty()) return "";
  Table table({{.title = "working set"},
               {.title = "", .align = Align::right},
               {.title = "bandwidth", .align = Align::right}});
  for (const WorkingSetCurve& curve : machine.curves) {
    std::string mix(name_of(curve.mix));
    for (const SizeRate& point : curve.points) {
      table.add_row({mix, quantity_text(Quantity::bytes, point.bytes),
                     quantity_text(Quantity::bytes_per_s, point.bytes_per_s)});
      mix.clear();
    }
  }
  return '\n' + table.to_text(style);
}

std::string machine_csv(const Machine& machine) {
  std::string text = "path,value,source\n";
  for (const MachineNumber& entry : numbers_of(machine))
    text += fmt::format("{},{},{}\n", csv_cell(entry.path), entry.number.value,
                        csv_cell(entry.number.source));
  return text;
}

/// As a file of its own, which --on takes.
int show_cluster(const Request& request, const Cluster& cluster) {
  for (const Flag& flag : {machine_csv_flag, html_flag}) {
    if (request.arguments.has(flag))
      fail(ErrorKind::usage, "--{} is of one machine; a cluster has --json", flag.name);
  }
  show_document(request, machine_json_flag,
                {.title = cluster.name,
                 .json = [&] { return to_json(cluster); },
                 .text = [&] { return cluster_text(cluster, request.style); }});
  return exit_code::done;
}

int run_machine_show(const Request& request, std::span<const std::string> machines) {
  if (names_cluster(machines[0])) return show_cluster(request, load_cluster(machines[0]));
  const Machine machine = load_machine(machines[0]);
  show_document(request, machine_json_flag,
                {.title = machine.title,
                 .json = [&] { return to_json(machine); },
                 .text = [&] { return machine_text(machine, request.style); },
                 .csv_flag = &machine_csv_flag,
                 .csv = [&] { return machine_csv(machine); }});
  return exit_code::done;
}

}  // namespace

std::string machine_text(const Machine& machine, const TextStyle& style) {
  const std::string text =
      fmt::format("{}\n{}\n{}{}{}{}", heading(machine, style), rates_text(machine, style),
                  memory_text(machine, style), others_text(machine, style),
                  evidence_text(machine, style), curves_text(machine, style));
  return style.has_unicode ? text : to_ascii(text);
}

constexpr MachineSubcommand machine_show{.name = "show",
                                         .least_machines = 1,
                                         .most_machines = 1,
                                         .flags = machine_show_flags,
                                         .run = run_machine_show};

}  // namespace strata
