// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/completions.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <span>

namespace strata {
namespace {

// Brackets and colons end the parts of a specification.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return for_single_quotes(result);
}

std::string action_of(Offer offer, std::span<const std::string_view> choices) {
  switch (offer) {
    case Offer::choices: return fmt::format("({})", fmt::join(choices, " "));
    case Offer::file:
    case Offer::output: return "_files";
    case Offer::model: return "_strata_models";
    case Offer::machine: return "_strata_machines";
    case Offer::command: return fmt::format("({})", fmt::join(command_words(), " "));
    case Offer::nothing: break;
  }
  return " ";  // a value that nothing can be said about
}

// '--json=[help]:FILE:_files'; a flag with two forms excludes itself in both, unless it may be
// repeated.
void add_flag(std::vector<std::string>& specifications, const Flag& flag) {
  const std::string value = flag.value.empty() ? ""
                                               : fmt::format(":{}:{}", escaped(flag.value),
                                                             action_of(flag.offer, flag.choices));
  const std::string rest = fmt::format("[{}]{}", escaped(flag.help), value);
  std::string prefix = flag.repeats ? "*" : "";
  if (!flag.repeats && flag.letter != 0) prefix = fmt::format("(-{} --{})", flag.letter, flag.name);
  specifications.push_back(
      fmt::format("'{}--{}{}{}'", prefix, flag.name, flag.value.empty() ? "" : "=", rest));
  if (flag.letter != 0) {
    specifications.push_back(
        fmt::format("'{}-{}{}{}'", prefix, flag.letter, flag.value.empty() ? "" : "+", rest));
  }
}

std::string arguments_call(const std::string& options,
                           const std::vector<std::string>& specifications,
                           std::string_view indent) {
  std::string text = fmt::format("{}_arguments {}", indent, options);
  for (const std::string& specification : specifications)
    text += fmt::format(" \\\n{}  {}", indent, specification);
  return text + '\n';
}

std::string command_case(const Command& command) {
  std::vector<std::string> specifications;
  for (const Flag& flag : all_flags(command)) add_flag(specifications, flag);
  std::size_t index = 1;
  for (const Argument& argument : command.arguments) {
    const std::string place = argument.repeats ? "*" : fmt::format("{}", index++);
    specifications.push_back(fmt::format("'{}:{}:{}'", place, escaped(lower_case(argument.name)),
                                         action_of(argument.offer, argument.choices)));
  }
  return fmt::format("        {})\n{}          ;;\n", command.name,
                     arguments_call("-s -S", specifications, "          "));
}

}  // namespace

std::string zsh_completion() {
  std::vector<std::string> program;
  for (const Flag& flag : program_flags()) add_flag(program, flag);
  program.emplace_back("'1:command:->command'");
  program.emplace_back("'*::argument:->argument'");
  std::string descriptions;
  std::string cases;
  for (const Command* command : commands()) {
    descriptions += fmt::format("        '{}:{}'\n", command->name, escaped(command->summary));
    cases += command_case(*command);
  }
  return fmt::format(
      "#compdef strata\n# zsh completion for strata, written by: strata generate zsh\n\n"
      "_strata_models() {{\n  _alternative 'networks:network:({})' 'files:file:_files'\n}}\n\n"
      "_strata_machines() {{\n  _alternative 'machines:machine:({})' 'files:file:_files'\n}}\n\n"
      "_strata() {{\n  local curcontext=$curcontext state line\n  local -a commands\n  typeset -A "
      "opt_args\n"
      "{}"
      "  case $state in\n"
      "    command)\n      commands=(\n{}      )\n      _describe command commands\n      ;;\n"
      "    argument)\n      case $words[1] in\n{}      esac\n      ;;\n"
      "  esac\n}}\n\n_strata \"$@\"\n",
      fmt::join(network_words(), " "), fmt::join(machine_words(), " "),
      arguments_call("-C -s -S", program, "  "), descriptions, cases);
}

}  // namespace strata
