// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

constexpr std::string_view list_kinds[] = {"networks", "machines", "formats", "operators",
                                           "frameworks"};

constexpr Argument list_arguments[] = {
    {.name = "KIND",
     .help = "networks, machines, formats, operators or frameworks.",
     .choices = list_kinds,
     .offer = Offer::choices,
     .is_required = false}};
constexpr Flag list_json_flag{.name = "json",
                              .value = "FILE",
                              .help = "The lists as JSON; - is standard output.",
                              .offer = Offer::output};
constexpr Flag list_csv_flag{.name = "csv",
                             .value = "FILE",
                             .help = "One list as CSV; - is standard output.",
                             .offer = Offer::output};
constexpr Flag list_flags[] = {list_json_flag, list_csv_flag, html_flag};

int run_list(const Request& request) {
  const std::string_view kind = request.arguments.word(0);
  const Catalogue catalogue = read_catalogue(kind);
  show_document(request, list_json_flag,
                {.title = "What Strata brings along",
                 .json = [&] { return to_json(catalogue, {.command = request.command_line}); },
                 .text = [&] { return to_text(catalogue, request.style); },
                 .csv_flag = &list_csv_flag,
                 .csv = [&] { return to_csv(catalogue); }});
  return exit_code::done;
}

}  // namespace

constexpr Command list_command{
    .name = "list",
    .summary = "The built-in networks, the machines, the formats, the operators",
    .arguments = list_arguments,
    .flags = list_flags,
    .run = run_list};

}  // namespace strata
