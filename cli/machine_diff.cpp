// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/machine_command.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "strata/base/csv_cell.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr Flag machine_diff_flags[] = {machine_json_flag, machine_csv_flag, html_flag};

std::optional<double> ratio_of(const NumberPair& pair) {
  if (!pair.first || !pair.second) return std::nullopt;
  return *pair.second / *pair.first;
}

std::string ratio_text(const NumberPair& pair) {
  const auto ratio = ratio_of(pair);
  if (!ratio) return "";
  if (*ratio == 1) return "=";
  return *ratio < 0.1 ? fmt::format("{:.3f}×", *ratio) : fmt::format("{:.2f}×", *ratio);
}

std::string to_text(const Machine& first, const Machine& second,
                    const std::vector<NumberPair>& pairs, const TextStyle& style) {
  Table table({{.title = "machine.", .least_width = 16, .omit = Omit::beginning},
               {.title = printable(first.name), .align = Align::right},
               {.title = printable(second.name), .align = Align::right},
               {.title = "ratio", .align = Align::right}});
  std::size_t equal = 0;
  for (const NumberPair& pair : pairs) {
    const auto value = [&](const std::optional<double>& number) {
      return number ? quantity_text(pair.quantity, *number) : std::string("–");
    };
    equal += pair.first == pair.second;
    table.add_row({pair.path.substr(pair.path.find('.') + 1), value(pair.first), value(pair.second),
                   ratio_text(pair)});
  }
  const std::string text = fmt::format(
      "{} ({}) and {} ({})\n\n{}\n{} of {} numbers are equal; ratio is the second over the first\n",
      printable(first.title), evidence_name(first), printable(second.title), evidence_name(second),
      table.to_text(style), equal, pairs.size());
  return style.has_unicode ? text : to_ascii(text);
}

Json pair_item(const NumberPair& pair) {
  const auto json = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"path", pair.path},
          {"first", json(pair.first)},
          {"second", json(pair.second)},
          {"ratio", json(ratio_of(pair))}};
}

std::string to_json(const Machine& first, const Machine& second,
                    const std::vector<NumberPair>& pairs, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "machine_diff");
  text.add("first", first.name);
  text.add("second", second.name);
  text.add_list("numbers", pairs, pair_item);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

std::string to_csv(const std::vector<NumberPair>& pairs) {
  std::string text = "path,first,second,ratio\n";
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
  };
  for (const NumberPair& pair : pairs)
    text += fmt::format("{},{},{},{}\n", csv_cell(pair.path), cell(pair.first), cell(pair.second),
                        cell(ratio_of(pair)));
  return text;
}

int run_machine_diff(const Request& request, std::span<const std::string> machines) {
  const Machine first = load_machine(machines[0]);
  const Machine second = load_machine(machines[1]);
  const std::vector<NumberPair> pairs = side_by_side(first, second);
  const Provenance provenance{request.command_line};
  check_outputs(request.arguments, {&machine_json_flag, &machine_csv_flag, &html_flag});
  OutputFiles outputs(request.arguments);
  outputs.write(machine_json_flag, [&] { return to_json(first, second, pairs, provenance); });
  outputs.write(machine_csv_flag, [&] { return to_csv(pairs); });
  outputs.write(html_flag, [&] {
    const std::string title = first.name + " and " + second.name;
    return page_text(title, {{title, to_json(first, second, pairs, provenance)},
                             {first.title, to_json(first)},
                             {second.title, to_json(second)}});
  });
  if (!outputs.took_stdout()) print(to_text(first, second, pairs, request.style));
  return exit_code::done;
}

}  // namespace

constexpr MachineSubcommand machine_diff{.name = "diff",
                                         .least_machines = 2,
                                         .most_machines = 2,
                                         .flags = machine_diff_flags,
                                         .run = run_machine_diff};

}  // namespace strata
