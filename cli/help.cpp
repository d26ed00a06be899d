// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_text.hpp"
#include "cli/output.hpp"

namespace strata {
namespace {

constexpr Argument help_arguments[] = {
    {.name = "COMMAND",
     .help = "The command to explain; without one, all are listed.",
     .offer = Offer::command,
     .is_required = false},
    {.name = "WORD", .help = "One word of it: strata help machine measure.", .is_required = false}};

int run_help(const Request& request) {
  const std::string_view topic = request.arguments.word(0);
  if (topic.empty()) {
    print(request.style.has_unicode ? overview() : to_ascii(overview()));
  } else {
    print_page(help_page(command_named(topic), request.arguments.word(1)));
  }
  return exit_code::done;
}

}  // namespace

constexpr Command help_command{.name = "help",
                               .summary = "The page of a command, with examples",
                               .arguments = help_arguments,
                               .flags = {},
                               .run = run_help,
                               .shows_waiting = false};

}  // namespace strata
