// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"
#include "strata/reproduce/analytical.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr std::string_view studies[] = {"analytical"};

constexpr Argument arguments[] = {{.name = "STUDY",
                                   .help = "analytical: the model of a training iteration.",
                                   .choices = studies,
                                   .offer = Offer::choices}};
constexpr Flag json_flag{.name = "json",
                         .value = "FILE",
                         .help = "The findings as JSON; - is standard output.",
                         .offer = Offer::file};
constexpr Flag flags[] = {json_flag};

std::string to_text(const std::vector<Finding>& findings, const TextStyle& style) {
  Table table({{.title = "no."},
               {.title = "network", .least_width = 12},
               {.title = "what", .least_width = 24},
               {.title = "printed", .align = Align::right},
               {.title = "found", .align = Align::right},
               {.title = "holds"},
               {.title = "note", .least_width = 10, .leaves = 1}});
  for (const Finding& finding : findings) {
    table.add_row({finding.observation, finding.network, finding.what, finding.printed,
                   finding.found,
                   !finding.is_printed ? ""
                   : finding.holds     ? "yes"
                                       : "no",
                   finding.note});
  }
  const auto held = std::count_if(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.is_printed && f.holds; });
  const auto printed = std::count_if(findings.begin(), findings.end(),
                                     [](const Finding& f) { return f.is_printed; });
  return fmt::format(
      "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem (thesis, "
      "National Taiwan University, 2021)\n\n{}\n{} of {} hold: within 3 percentage points or "
      "0.05×, "
      "5 points where the thesis says \"about\", or in the direction it claims\n",
      table.to_text(style), held, printed);
}

std::string to_json(const std::vector<Finding>& findings, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "reproduction");
  text.add_list("findings", findings, [](const Finding& finding) {
    return nlohmann::ordered_json{{"observation", finding.observation},
                                  {"network", finding.network},
                                  {"what", finding.what},
                                  {"printed", finding.printed},
                                  {"found", finding.found},
                                  {"is_printed", finding.is_printed},
                                  {"holds", finding.holds},
                                  {"note", finding.note}};
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

int run(const Request& request) {
  const std::vector<Finding> findings = reproduce_analytical();
  const auto path = request.arguments.value(json_flag);
  if (path) write_output(*path, to_json(findings, {.command = request.command_line}));
  if (path != "-") print(to_text(findings, request.style));
  return exit_code::done;
}

}  // namespace

constexpr Command reproduce_command{.name = "reproduce",
                                    .summary = "The published figures of a study, computed anew",
                                    .arguments = arguments,
                                    .flags = flags,
                                    .run = run};

}  // namespace strata
