// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/model_flags.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "strata/base/units.hpp"
#include "strata/strata.hpp"

#include <array>

namespace strata {
namespace {

constexpr std::string_view show_groupings[] = {"layer", "type", "block"};

constexpr Flag show_by_flag{.name = "by",
                            .value = "WHAT",
                            .help = "One row per layer, type (of operator) or block.",
                            .choices = show_groupings,
                            .offer = Offer::choices};
constexpr Flag show_top_flag{
    .name = "top", .value = "N", .help = "Only the N rows with the most FLOP."};
constexpr Flag show_json_flag{.name = "json",
                              .value = "FILE",
                              .help = "Everything as JSON; - is standard output.",
                              .offer = Offer::output};
constexpr Flag show_csv_flag{.name = "csv",
                             .value = "FILE",
                             .help = "The rows as CSV; - is standard output.",
                             .offer = Offer::output};
constexpr Flag dot_flag{.name = "dot",
                        .value = "FILE",
                        .help = "The graph for Graphviz; - is standard output.",
                        .offer = Offer::output};

constexpr Argument show_arguments[] = {model_argument};
constexpr auto show_flags =
    joined_flags(size_flags, import_flags,
                 std::array<Flag, 6>{show_by_flag, show_top_flag, show_json_flag, show_csv_flag,
                                     dot_flag, html_flag});

ModelView show_view(const Arguments& given) {
  ModelView view;
  if (const auto by = given.value(show_by_flag)) {
    view.by = *by == "type" ? GroupBy::type : *by == "block" ? GroupBy::block : GroupBy::layer;
  }
  if (const auto top = given.value(show_top_flag))
    view.top = static_cast<std::size_t>(parse_whole_number(*top, "--top"));
  return view;
}

int run_show(const Request& request) {
  const Arguments& given = request.arguments;
  const ModelView view = show_view(given);
  check_outputs(given, {&show_json_flag, &show_csv_flag, &dot_flag, &html_flag});
  const ModelSizes sizes = model_sizes(given);
  const Graph graph = load_model(given.word(0), import_options(given));
  const ModelSummary summary = summarize(bind_model(graph, sizes), model_mode(given));

  warn(summary.warnings);
  OutputFiles outputs(given);
  outputs.write(show_json_flag,
                [&] { return to_json(summary, {.command = request.command_line}); });
  outputs.write(show_csv_flag, [&] { return to_csv(summary, view); });
  outputs.write(dot_flag, [&] { return to_dot(summary); });
  outputs.write(html_flag, [&] {
    const PageSection part = page_section(summary, {.command = request.command_line});
    return page_text(part.name, {part});
  });
  if (!outputs.took_stdout()) print(to_text(summary, view, request.style));
  return exit_code::done;
}

}  // namespace

constexpr Command show_command{.name = "show",
                               .summary = "What a network is made of and what each layer costs",
                               .arguments = show_arguments,
                               .flags = show_flags,
                               .run = run_show};

}  // namespace strata
