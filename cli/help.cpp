// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_text.hpp"
#include "cli/help_topics.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr Argument help_arguments[] = {
    {.name = "COMMAND",
     .help = "A command or a topic; without one, all are listed.",
     .offer = Offer::command,
     .is_required = false},
    {.name = "WORD",
     .help = "One word of it: machine measure, json prediction.",
     .is_required = false}};

/// Of a command, else of a topic. Errors (usage): there is neither.
std::string page_of(std::string_view topic, std::string_view word) {
  std::vector<std::string> names;
  for (const Command* command : commands()) {
    if (command->name == topic) return help_page(*command, word);
    names.emplace_back(command->name);
  }
  if (auto page = topic_page(topic, word)) return *std::move(page);
  for (std::string& name : topics()) names.push_back(std::move(name));
  fail(ErrorKind::usage, "no command or topic named '{}'{}\n{}", topic, did_you_mean(topic, names),
       "usage: strata help [COMMAND | TOPIC]    (strata help topics lists the topics)");
}

int run_help(const Request& request) {
  const std::string_view topic = request.arguments.word(0);
  if (topic.empty()) {
    print(request.style.has_unicode ? overview() : to_ascii(overview()));
  } else {
    print_page(page_of(topic, request.arguments.word(1)));
  }
  return exit_code::done;
}

}  // namespace

constexpr Command help_command{.name = "help",
                               .summary = "The page of a command or a topic, with examples",
                               .arguments = help_arguments,
                               .flags = {},
                               .run = run_help,
                               .shows_waiting = false};

}  // namespace strata
