// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/completions.hpp"

#include <fmt/format.h>

#include <span>

namespace strata {
namespace {

// fish escapes a quote inside single quotes with a backslash.
std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '\'';
}

// -x: needs a value, and no file; -r -F: needs a value, a file.
std::string offer_options(Offer offer, std::span<const std::string_view> choices) {
  const auto words = [](const auto& list) {
    return in_quotes(fmt::format("{}", fmt::join(list, " ")));
  };
  switch (offer) {
    case Offer::choices: return fmt::format(" -x -a {}", words(choices));
    case Offer::command: return fmt::format(" -x -a {}", words(command_words()));
    case Offer::file:
    case Offer::output: return " -r -F";
    case Offer::model: return fmt::format(" -F -a {}", words(network_words()));
    case Offer::machine: return fmt::format(" -r -F -a {}", words(machine_words()));
    case Offer::nothing: break;
  }
  return " -x";
}

std::string flag_line(const std::string& condition, const Flag& flag) {
  std::string line = fmt::format("complete -c strata -n {} -l {}", in_quotes(condition), flag.name);
  if (flag.letter != 0) line += fmt::format(" -s {}", flag.letter);
  if (!flag.value.empty()) line += offer_options(flag.offer, flag.choices);
  return line + fmt::format(" -d {}\n", in_quotes(flag.help));
}

}  // namespace

std::string fish_completion() {
  std::string text =
      "# fish completion for strata, written by: strata generate fish\ncomplete -c strata -f\n";
  for (const Flag& flag : program_flags()) text += flag_line("__fish_use_subcommand", flag);
  for (const Command* command : commands()) {
    text += fmt::format("complete -c strata -n __fish_use_subcommand -a {} -d {}\n", command->name,
                        in_quotes(command->summary));
    const std::string condition = fmt::format("__fish_seen_subcommand_from {}", command->name);
    for (const Flag& flag : all_flags(*command)) text += flag_line(condition, flag);
    for (const Argument& argument : command->arguments) {
      text +=
          fmt::format("complete -c strata -n {}{} -d {}\n", in_quotes(condition),
                      offer_options(argument.offer, argument.choices), in_quotes(argument.name));
    }
  }
  return text;
}

}  // namespace strata
