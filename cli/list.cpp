// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

constexpr std::string_view kinds[] = {"networks", "machines", "formats", "operators"};

constexpr Argument arguments[] = {{.name = "KIND",
                                   .help = "networks, machines, formats or operators.",
                                   .choices = kinds,
                                   .offer = Offer::choices,
                                   .is_required = false}};
constexpr Flag json_flag{.name = "json",
                         .value = "FILE",
                         .help = "The lists as JSON; - is standard output.",
                         .offer = Offer::file};
constexpr Flag flags[] = {json_flag};

int run(const Request& request) {
  const std::string_view kind = request.arguments.word(0);
  const Catalogue catalogue = read_catalogue(kind);
  const auto path = request.arguments.value(json_flag);
  if (path) write_output(*path, to_json(catalogue, {.command = request.command_line}));
  if (path != "-") print(to_text(catalogue, request.style));
  return exit_code::done;
}

}  // namespace

constexpr Command list_command{
    .name = "list",
    .summary = "The built-in networks, the machines, the formats, the operators",
    .arguments = arguments,
    .flags = flags,
    .run = run};

}  // namespace strata
