// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/machine_at_hand.hpp"
#include "cli/machine_command.hpp"
#include "strata/base/csv_cell.hpp"
#include "strata/base/units.hpp"
#include "strata/predict/expected/evidence.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr Flag machine_list_flags[] = {machine_json_flag, machine_csv_flag, html_flag};

struct MachineLine {
  const Machine* machine;
  std::optional<double> fp32_flop_per_s;         // lanes
  std::optional<double> bf16_matrix_flop_per_s;  // fp16 where bf16 is not known
  std::optional<double> bandwidth_bytes_per_s;
  std::optional<double> on_chip_bytes;
  std::optional<double> balance;  // of the matrix rate, else of fp32
};

MachineLine line_of(const Machine& machine) {
  MachineLine line{&machine, {}, {}, {}, {}, {}};
  const Peak* fp32 = find_peak(machine, DType::fp32, ComputeUnit::vector);
  const Peak* matrix = find_peak(machine, DType::bf16, ComputeUnit::matrix);
  if (matrix == nullptr) matrix = find_peak(machine, DType::fp16, ComputeUnit::matrix);
  if (fp32 != nullptr) line.fp32_flop_per_s = fp32->flop_per_s.value;
  if (matrix != nullptr) line.bf16_matrix_flop_per_s = matrix->flop_per_s.value;
  const MemoryLevel* outer = off_chip(machine);
  if (outer != nullptr && outer->bandwidth_bytes_per_s)
    line.bandwidth_bytes_per_s = outer->bandwidth_bytes_per_s->value;
  if (const MemoryLevel* inner = last_on_chip(machine))
    line.on_chip_bytes = inner->capacity_bytes.value;
  const Peak* rate = matrix != nullptr ? matrix : fp32;
  if (rate != nullptr) line.balance = balance_of(machine, *rate);
  return line;
}

std::string text_of(Quantity quantity, const std::optional<double>& value) {
  return value ? quantity_text(quantity, *value) : "";
}

/// Runs that expected times of the machine were held against.
std::string checked_text(const MachineLine& line) {
  const std::int64_t runs = all_checked_runs(line.machine->name);
  return runs > 0 ? fmt::format("{}", runs) : "unchecked";
}

std::string to_text(const std::vector<MachineLine>& lines, const TextStyle& style) {
  Table table({{.title = "machine"},
               {.title = "", .least_width = 12, .leaves = 2},
               {.title = "fp32\nvector", .align = Align::right},
               {.title = "bf16, fp16\nmatrix", .align = Align::right},
               {.title = "outermost\nmemory", .align = Align::right},
               {.title = "on chip\nlast level", .align = Align::right, .leaves = 3},
               {.title = "balance\nFLOP/byte", .align = Align::right, .leaves = 4},
               {.title = "evidence", .leaves = 1},
               {.title = "checked\nruns", .align = Align::right, .leaves = 2}});
  for (const MachineLine& line : lines) {
    table.add_row({line.machine->name, line.machine->title,
                   text_of(Quantity::flop_per_s, line.fp32_flop_per_s),
                   text_of(Quantity::flop_per_s, line.bf16_matrix_flop_per_s),
                   text_of(Quantity::bytes_per_s, line.bandwidth_bytes_per_s),
                   line.on_chip_bytes ? format_capacity(*line.on_chip_bytes) : "",
                   line.balance ? fmt::format("{:.1f}", *line.balance) : "",
                   std::string(evidence_name(*line.machine)), checked_text(line)});
  }
  return table.to_text(style);
}

Json machine_item(const MachineLine& line) {
  Json item = {{"name", line.machine->name},
               {"title", line.machine->title},
               {"kind", line.machine->kind},
               {"evidence", evidence_name(*line.machine)}};
  const auto add = [&](const char* key, const std::optional<double>& value) {
    item[key] = value ? Json(*value) : Json(nullptr);
  };
  add("fp32_vector_flop_per_s", line.fp32_flop_per_s);
  add("half_matrix_flop_per_s", line.bf16_matrix_flop_per_s);
  add("bandwidth_bytes_per_s", line.bandwidth_bytes_per_s);
  add("on_chip_bytes", line.on_chip_bytes);
  add("balance_flop_per_byte", line.balance);
  item["checked_runs"] = all_checked_runs(line.machine->name);
  return item;
}

std::string to_csv(const std::vector<MachineLine>& lines) {
  std::string text =
      "name,title,kind,evidence,fp32_vector_flop_per_s,half_matrix_flop_per_s,"
      "bandwidth_bytes_per_s,on_chip_bytes,balance_flop_per_byte,checked_runs\n";
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
  };
  for (const MachineLine& line : lines) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_cell(line.machine->name),
                        csv_cell(line.machine->title), csv_cell(line.machine->kind),
                        evidence_name(*line.machine), cell(line.fp32_flop_per_s),
                        cell(line.bf16_matrix_flop_per_s), cell(line.bandwidth_bytes_per_s),
                        cell(line.on_chip_bytes), cell(line.balance),
                        all_checked_runs(line.machine->name));
  }
  return text;
}

int run_machine_list(const Request& request, std::span<const std::string>) {
  std::vector<MachineLine> lines;
  for (const Machine& machine : shipped_machines()) lines.push_back(line_of(machine));
  const std::vector<Machine> own = measured_machines();
  for (const Machine& machine : own) lines.push_back(line_of(machine));
  const auto document = [&] {
    JsonText text;
    text.add("schema_version", 1);
    text.add("kind", "machines");
    text.add_list("machines", lines, machine_item);
    text.add("provenance", to_json(Provenance{request.command_line}));
    return std::move(text).finish();
  };
  show_document(request, machine_json_flag,
                {.title = "Machines",
                 .json = document,
                 .text = [&] { return to_text(lines, request.style); },
                 .csv_flag = &machine_csv_flag,
                 .csv = [&] { return to_csv(lines); }});
  return exit_code::done;
}

}  // namespace

constexpr MachineSubcommand machine_list{.name = "list",
                                         .least_machines = 0,
                                         .most_machines = 0,
                                         .flags = machine_list_flags,
                                         .run = run_machine_list};

}  // namespace strata
