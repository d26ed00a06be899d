// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/completions.hpp"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>

namespace strata {
namespace {

std::string flag_words(std::span<const Flag> flags) {
  std::vector<std::string> words;
  for (const Flag& flag : flags) {
    words.push_back(fmt::format("--{}", flag.name));
    if (flag.letter != 0) words.push_back(fmt::format("-{}", flag.letter));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// The call of a function of the script that offers the values.
std::string offer_call(Offer offer, std::span<const std::string_view> choices) {
  switch (offer) {
    case Offer::choices: return fmt::format("_strata_words '{}'", fmt::join(choices, " "));
    case Offer::file:
    case Offer::output: return "_strata_files";
    case Offer::model: return "_strata_models";
    case Offer::machine: return "_strata_machines";
    case Offer::command: return fmt::format("_strata_words '{}'", fmt::join(command_words(), " "));
    case Offer::nothing: break;
  }
  return "COMPREPLY=()";
}

// A case per flag that takes a value: "show:--dtype | show:-t) … ;;"
std::string value_cases(std::string_view command, std::span<const Flag> flags) {
  std::string text;
  for (const Flag& flag : flags) {
    if (flag.value.empty()) continue;
    text += fmt::format("    {}:--{}", command, flag.name);
    if (flag.letter != 0) text += fmt::format(" | {}:-{}", command, flag.letter);
    text += fmt::format(") {}; return ;;\n", offer_call(flag.offer, flag.choices));
  }
  return text;
}

std::string word_case(std::string_view command, std::span<const Flag> flags,
                      const std::string& words) {
  return fmt::format("    '{}') if [[ $current == -* ]]; then _strata_words '{}'; else {}; fi ;;\n",
                     command, flag_words(flags), words);
}

// Every flag that a value follows, in all spellings: "--json | --csv".
std::string flags_with_values() {
  std::set<std::string> spellings;
  for (const Command* command : commands()) {
    for (const Flag& flag : all_flags(*command)) {
      if (flag.value.empty()) continue;
      spellings.insert(fmt::format("--{}", flag.name));
      if (flag.letter != 0) spellings.insert(fmt::format("-{}", flag.letter));
    }
  }
  return fmt::format("{}", fmt::join(spellings, " | "));
}

// The first word of a command, and all others; where the others are of another kind, how many words
// stand there already says which it is.
std::string offers_of(std::span<const Argument> arguments) {
  if (arguments.empty()) return offer_call(Offer::nothing, {});
  std::string first = offer_call(arguments.front().offer, arguments.front().choices);
  const std::string last = offer_call(arguments.back().offer, arguments.back().choices);
  if (!arguments.back().repeats || first == last) return first;
  return fmt::format("if ((words == 0)); then {}; else {}; fi", first, last);
}

constexpr std::string_view functions = R"(
_strata_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }
_strata_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }
)";

constexpr std::string_view beginning = R"(
_strata() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' index words=0
  if [[ $current == '=' ]]; then  # bash takes --flag=value for three words
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case ${COMP_WORDS[index]} in
      --color) ((index++)) ;;
      -*) ;;
      *) command=${COMP_WORDS[index]}; break ;;
    esac
  done
)";

}  // namespace

std::string bash_completion() {
  std::string values = value_cases("", program_flags());
  std::string words = word_case("", program_flags(),
                                fmt::format("_strata_words '{}'", fmt::join(command_words(), " ")));
  for (const Command* command : commands()) {
    const std::vector<Flag> flags = all_flags(*command);
    const std::string offers = offers_of(command->arguments);
    values += value_cases(command->name, flags);
    words += word_case(command->name, flags, offers);
  }
  return fmt::format(
      "# bash completion for strata, written by: strata generate bash\n{}"
      "_strata_machines() {{\n  compopt -o filenames 2>/dev/null\n"
      "  mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\"; compgen -f -- "
      "\"$current\")\n}}\n"
      "_strata_models() {{\n  compopt -o filenames 2>/dev/null\n"
      "  mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\"; compgen -f -- "
      "\"$current\")\n}}\n{}"
      "  for ((index++; index < COMP_CWORD; index++)); do\n"
      "    case ${{COMP_WORDS[index]}} in\n"
      "      {}) ((index++)) ;;\n      -*) ;;\n      *) ((words++)) ;;\n    esac\n  done\n"
      "  case $command:$previous in\n{}  esac\n"
      "  case $command in\n{}  esac\n}}\n"
      "complete -F _strata strata\n",
      functions, fmt::join(machine_words(), " "), fmt::join(network_words(), " "), beginning,
      flags_with_values(), values, words);
}

}  // namespace strata
