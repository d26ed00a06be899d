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
     .is_required = false}};

int run_help(const Request& request) {
  const std::string_view topic = request.arguments.word(0);
  const std::string text = topic.empty() ? overview() : help_page(command_named(topic).name);
  print(request.style.has_unicode ? text : to_ascii(text));
  return exit_code::done;
}

}  // namespace

constexpr Command help_command{.name = "help",
                               .summary = "The page of a command, with examples",
                               .arguments = help_arguments,
                               .flags = {},
                               .run = run_help};

}  // namespace strata
