// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/predict_flags.hpp"
#include "cli/profile_argument.hpp"
#include "cli/progress.hpp"
#include "strata/api/explain.hpp"
#include "strata/api/page.hpp"
#include "strata/importers/importers.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

namespace strata {
namespace {

constexpr Argument report_arguments[] = {
    {.name = "FILE|MODEL",
     .help = "A result as JSON, points of a sweep, or a model.",
     .offer = Offer::model,
     .repeats = true}};
constexpr Flag report_out_flag{.name = "out",
                               .letter = 'o',
                               .value = "FILE",
                               .help = "The page; - is standard output. Default: report.html.",
                               .offer = Offer::output};
constexpr Flag title_flag{.name = "title", .value = "TEXT", .help = "What stands on top."};
constexpr Flag report_roofs_on_flag{.name = "on",
                                    .value = "MACHINE",
                                    .help = "Whose roofs; else the machine of each profile.",
                                    .offer = Offer::machine};
constexpr auto report_flags =
    joined_flags(std::array<Flag, 4>{report_out_flag, title_flag, report_roofs_on_flag, set_flag},
                 prediction_flags);

/// The page of a prediction, with its findings.
PageSection predicted_part(const Arguments& given, const std::string& word,
                           const Provenance& provenance) {
  const Machine machine = machine_of(given);
  PredictRequest wanted = predict_request(given, true);
  wanted.wants_transfers = true;
  const Graph graph = load_model(word, import_options(given));  // the page asks it, too
  const ExplainedModel explained =
      explain_model(graph, machine, wanted, [&](std::size_t done, std::size_t all) {
        show_progress("predicting with changes", done, all);
      });
  warn(explained.iteration.summary.warnings);
  return page_section(explained.iteration, with_overrides(machine, wanted.hardware),
                      explained.explanation,
                      {.command = provenance.command, .request = request_json(given, word)});
}

int run_report(const Request& request) {
  const Arguments& given = request.arguments;
  const Provenance provenance{.command = request.command_line};
  const AskedRoofs asked = asked_roofs(given, report_roofs_on_flag);
  std::vector<PageSection> parts;
  std::string names;
  bool has_model = false;
  for (const std::string& word : given.words()) {
    const bool is_model = names_network(word) || is_model_file(word);
    has_model = has_model || is_model;
    parts.push_back(is_model ? predicted_part(given, word, provenance)
                             : page_part_of_file(word, asked, provenance));
    names += (names.empty() ? "" : ", ") + parts.back().name;
  }
  if (!has_model)
    refuse_flags_for_profile(given, report_flags,
                             {&report_out_flag, &title_flag, &report_roofs_on_flag, &set_flag});
  const std::string title(given.value(title_flag).value_or(names));
  const std::string out(given.value(report_out_flag).value_or("report.html"));
  const TitleFrom title_from = given.has(title_flag) ? TitleFrom::person : TitleFrom::results;
  write_output(out, page_text(title, parts, title_from));
  if (out != "-") print(fmt::format("written: {}\n", out));
  return exit_code::done;
}

}  // namespace

constexpr Command report_command{.name = "report",
                                 .summary = "Stored results as one page to look at and explore",
                                 .arguments = report_arguments,
                                 .flags = report_flags,
                                 .run = run_report};

}  // namespace strata
