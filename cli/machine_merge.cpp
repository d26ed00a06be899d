// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/machine_command.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/machine/merge_machines.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr Flag machine_merge_flags[] = {machine_json_flag, machine_output_flag};

std::string spread_text(const MergedMachines& merged, const TextStyle& style) {
  Table table({{.title = "machine.", .least_width = 16, .omit = Omit::beginning},
               {.title = "nodes", .align = Align::right, .leaves = 2},
               {.title = "least", .align = Align::right},
               {.title = "median", .align = Align::right},
               {.title = "most", .align = Align::right},
               {.title = "spread", .align = Align::right, .leaves = 1}});
  for (const NodeSpread& spread : merged.numbers) {
    if (spread.least == spread.most) continue;  // what is a fact of the chip, not a measurement
    table.add_row({spread.path.substr(spread.path.find('.') + 1), fmt::format("{}", spread.nodes),
                   quantity_text(spread.quantity, spread.least),
                   quantity_text(spread.quantity, spread.median),
                   quantity_text(spread.quantity, spread.most),
                   fmt::format("{:.2f} %", 100 * spread.deviation / spread.median)});
  }
  return table.to_text(style);
}

std::string outliers_text(const MergedMachines& merged, const TextStyle& style) {
  if (merged.outliers.empty()) return "no node stands out\n";
  Table table({{.title = "outlier", .least_width = 8},
               {.title = "machine.", .least_width = 16, .omit = Omit::beginning},
               {.title = "value", .align = Align::right},
               {.title = "off the median", .align = Align::right},
               {.title = "sigmas", .align = Align::right, .leaves = 1}});
  for (const Outlier& outlier : merged.outliers) {
    table.add_row({outlier.host, outlier.path.substr(outlier.path.find('.') + 1),
                   quantity_text(outlier.quantity, outlier.value),
                   fmt::format("{:+.1f} %", 100 * (outlier.value / outlier.median - 1)),
                   outlier.robust_sigmas == 0 ? "" : fmt::format("{:.1f}", outlier.robust_sigmas)});
  }
  return table.to_text(style);
}

std::string to_text(const MergedMachines& merged, const TextStyle& style) {
  std::string notes;
  for (const std::string& note : merged.notes) notes += fmt::format("note: {}\n", printable(note));
  const std::string text =
      fmt::format("{}, {}\n\n{}\n{}{}", printable(merged.machine.title),
                  printable(merged.machine.measured->host), spread_text(merged, style),
                  outliers_text(merged, style), notes);
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_json(const MergedMachines& merged, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "machine_merge");
  text.add("machine", Json::parse(strata::to_json(merged.machine)));
  text.add_list("numbers", merged.numbers, [](const NodeSpread& spread) {
    return Json{{"path", spread.path},   {"nodes", spread.nodes},
                {"least", spread.least}, {"median", spread.median},
                {"most", spread.most},   {"deviation", spread.deviation}};
  });
  text.add_list("outliers", merged.outliers, [](const Outlier& outlier) {
    return Json{{"host", outlier.host},     {"file", outlier.file},
                {"path", outlier.path},     {"value", outlier.value},
                {"median", outlier.median}, {"robust_sigmas", outlier.robust_sigmas}};
  });
  text.add_list("notes", merged.notes, [](const std::string& note) { return Json(note); });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

int run_machine_merge(const Request& request, std::span<const std::string> machines) {
  check_outputs(request.arguments, {&machine_json_flag, &machine_output_flag});
  std::vector<MeasuredNode> nodes;
  for (const std::string& file : machines) nodes.push_back({file, load_machine(file)});
  const MergedMachines merged = merge_machines(nodes);
  OutputFiles outputs(request.arguments);
  outputs.write(machine_output_flag, [&] { return strata::to_json(merged.machine); });
  outputs.write(machine_json_flag,
                [&] { return to_json(merged, Provenance{request.command_line}); });
  if (!outputs.took_stdout()) print(to_text(merged, request.style));
  return exit_code::done;
}

}  // namespace

constexpr MachineSubcommand machine_merge{
    .name = "merge", .least_machines = 2, .flags = machine_merge_flags, .run = run_machine_merge};

}  // namespace strata
